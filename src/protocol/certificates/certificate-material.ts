import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type InputIssue, invalid } from '../../platform/errors.ts';
import type { SlicedTask } from '../../platform/scheduling/sliced-task.ts';
import { factsOf } from './certificate-facts.ts';
import { chainProblem, isIssuedBy, isSelfSigned, shownName } from './chain.ts';
import { type PemBlock, pemBlocks } from './pem-blocks.ts';
import { oversizeOf, unusualCurve, weaknessOf } from './weakness.ts';

/**
 * A certificate with its private key is a server certificate; one without must be an authority. `cert` has the leaf
 * first, followed by its chain. A private key may be part of either text. Error messages contain no part of a key.
 */
export interface MaterialInput {
  readonly cert: string;
  readonly privateKey?: string | null | undefined;
}

export interface CertificateMaterial {
  readonly leaf: X509Certificate;
  readonly chain: readonly X509Certificate[];
  /** The certificates as PEM, leaf first, without comments, keys and other blocks. */
  readonly cert: string;
  /** PKCS #8 PEM. `null` if there is no key. */
  readonly key: string | null;
}

/** In UTF-16 code units. A chain of five certificates with text dumps has about 40,000. */
export const MAX_PEM = 100_000;
const MAX_CERTIFICATES = 20;

/** Errors: INVALID with issues at `cert` and `privateKey`, see materialIssues. */
export function* checkedMaterial(input: MaterialInput, now = Date.now()): SlicedTask<CertificateMaterial> {
  const material = yield* readMaterial(input);
  const issues = yield* materialIssues(material, now);
  if (issues.length > 0) throw invalid(issues);
  return material;
}

/** Parses the texts, and checks that the key and the chain match, regardless of age and strength. Errors: INVALID. */
export function* readMaterial({ cert, privateKey }: MaterialInput): SlicedTask<CertificateMaterial> {
  const issues: InputIssue[] = [];
  const inCert = blocksOf(cert, 'cert', issues);
  const inPrivateKey = privateKey == null ? [] : blocksOf(privateKey, 'privateKey', issues);
  if (issues.length > 0) throw invalid(issues);
  const certificates = readCertificates(inCert, issues);
  const key = readKey(inCert, inPrivateKey, issues);
  if (issues.length > 0) throw invalid(issues);
  const [leaf, ...chain] = certificates;
  if (leaf === undefined) throw invalid([{ path: 'cert', reason: 'contains no certificate' }]);
  const problem = oversizeProblem(certificates) ?? (yield* chainProblem(certificates));
  if (problem !== null) issues.push({ path: 'cert', reason: problem });
  if (key !== null && !leaf.checkPrivateKey(key)) issues.push({ path: 'privateKey', reason: keyMismatch(key, chain) });
  if (issues.length > 0) throw invalid(issues);
  return {
    leaf,
    chain,
    cert: certificates.map(String).join(''),
    key: key?.export({ type: 'pkcs8', format: 'pem' }).toString() ?? null,
  };
}

/** Parses a text that `readMaterial` has accepted. Does not verify the chain again. Errors: INVALID. */
export function readStored(cert: string): Pick<CertificateMaterial, 'leaf' | 'chain'> {
  const issues: InputIssue[] = [];
  const [leaf, ...chain] = readCertificates(blocksOf(cert, 'cert', issues), issues);
  if (leaf === undefined || issues.length > 0) throw invalid(issues);
  return { leaf, chain };
}

/** Why the certificate must not be deployed at `now` (epoch milliseconds). Empty if it may be deployed. */
export function* materialIssues({ leaf, chain, key }: CertificateMaterial, now = Date.now()): SlicedTask<InputIssue[]> {
  const reasons: string[] = [];
  for (const certificate of [leaf, ...chain]) {
    yield;
    const found = [validityProblem(certificate, now), weaknessOf(certificate, isSelfSigned(certificate))];
    for (const reason of found) {
      if (reason !== null)
        reasons.push(certificate === leaf ? reason : `${shownName(certificate)} in the chain ${reason}`);
    }
  }
  const curve = key === null ? null : unusualCurve(leaf);
  const issues = [...reasons, ...(curve === null ? [] : [curve])].map((reason) => ({ path: 'cert', reason }));
  if (key === null && !leaf.ca) issues.push({ path: 'privateKey', reason: NEEDS_KEY });
  if (key !== null && !servesTls(leaf)) issues.push({ path: 'cert', reason: NOT_FOR_SERVERS });
  return issues;
}

export function materialRefusal([issue]: readonly InputIssue[]): string {
  if (issue === undefined) return 'The certificate cannot be used';
  const { path, reason } = issue;
  if (path === 'cert') return `The certificate ${reason}`;
  return reason.startsWith('the ') ? `T${reason.slice(1)}` : `The private key ${reason}`;
}

const NEEDS_KEY =
  'the private key is missing: the certificate is not an authority, so it must be a server certificate. To accept client certificates, store the authority that issued them';
const NOT_FOR_SERVERS = 'is not a server certificate: its extended key usage does not contain serverAuth';

function blocksOf(text: string, path: string, issues: InputIssue[]): readonly PemBlock[] {
  if (text.length > MAX_PEM) {
    issues.push({ path, reason: `must have at most ${MAX_PEM} characters` });
    return [];
  }
  const { blocks, problem } = pemBlocks(text, path === 'cert' ? 'CERTIFICATE' : 'PRIVATE KEY');
  if (problem !== null) issues.push({ path, reason: problem });
  return blocks;
}

const CERTIFICATE = /^(X509 )?CERTIFICATE$/;
const KEY = /PRIVATE KEY$/;
/** Key files may contain parameters, which are ignored. */
const PARAMETERS = /PARAMETERS$/;
const HINTS: Readonly<Record<string, string>> = {
  'CERTIFICATE REQUEST': 'a certificate authority must issue a certificate for it first',
  'NEW CERTIFICATE REQUEST': 'a certificate authority must issue a certificate for it first',
  'TRUSTED CERTIFICATE': '`openssl x509` converts it to a certificate without trust settings',
};

function readCertificates(blocks: readonly PemBlock[], issues: InputIssue[]): X509Certificate[] {
  const certificates: X509Certificate[] = [];
  for (const { label, text } of blocks) {
    if (CERTIFICATE.test(label)) {
      const certificate = parsed(text);
      const position = certificates.length + 1;
      if (certificate !== null) certificates.push(certificate);
      else issues.push({ path: 'cert', reason: `contains an invalid certificate at position ${position}` });
    } else if (!KEY.test(label) && !PARAMETERS.test(label)) {
      const hint = HINTS[label] === undefined ? '' : `: ${HINTS[label]}`;
      issues.push({ path: 'cert', reason: `contains a ${label}, which is not a certificate${hint}` });
    }
    if (certificates.length > MAX_CERTIFICATES || issues.length > MAX_CERTIFICATES) {
      issues.push({ path: 'cert', reason: `must contain at most ${MAX_CERTIFICATES} certificates` });
      break;
    }
  }
  return certificates;
}

function oversizeProblem(certificates: readonly X509Certificate[]): string | null {
  for (const [index, certificate] of certificates.entries()) {
    const oversize = oversizeOf(certificate.publicKey);
    if (oversize !== null) return index === 0 ? oversize : `${shownName(certificate)} in the chain ${oversize}`;
  }
  return null;
}

function parsed(text: string): X509Certificate | null {
  try {
    const certificate = new X509Certificate(text);
    // OpenSSL reads names, times and the key on demand, and each may be malformed or unsupported. The service shows
    // them, so a certificate with such a part must not be stored.
    factsOf(certificate);
    return certificate;
  } catch {
    return null;
  }
}

function readKey(
  inCert: readonly PemBlock[],
  inPrivateKey: readonly PemBlock[],
  issues: InputIssue[],
): KeyObject | null {
  const refuse = (problem: string): null => {
    issues.push({ path: 'privateKey', reason: `the private key ${problem}` });
    return null;
  };
  const keys = [...inCert, ...inPrivateKey].filter(({ label }) => KEY.test(label));
  if (inPrivateKey.length > 0 && !inPrivateKey.some(({ label }) => KEY.test(label))) {
    refuse(`is a ${inPrivateKey[0]?.label}, which is not a private key`);
  }
  if (keys.length > 1) refuse(`is present ${keys.length} times: exactly one is required`);
  const [block] = keys;
  if (block === undefined || issues.length > 0) return null;
  if (block.label === 'ENCRYPTED PRIVATE KEY' || /^Proc-Type: *4, *ENCRYPTED/m.test(block.text)) {
    return refuse('is encrypted: `openssl pkey` removes the passphrase');
  }
  if (block.label === 'OPENSSH PRIVATE KEY') {
    return refuse('is in OpenSSH format: `ssh-keygen -p -m PKCS8` converts it');
  }
  try {
    return createPrivateKey(block.text);
  } catch {
    // Messages of OpenSSL may contain parts of the key.
    return refuse('cannot be read');
  }
}

function keyMismatch(key: KeyObject, chain: readonly X509Certificate[]): string {
  const owner = chain.find((certificate) => certificate.checkPrivateKey(key));
  return owner === undefined
    ? 'the private key does not belong to the certificate'
    : `the private key does not belong to the first certificate but to ${shownName(owner)} in the chain`;
}

function validityProblem({ validFromDate, validToDate }: X509Certificate, now: number): string | null {
  if (Number(validToDate) < now) return `expired on ${timeText(validToDate)}`;
  return Number(validFromDate) > now ? `is not valid before ${timeText(validFromDate)}` : null;
}

const timeText = (time: Date): string => time.toISOString().replace('.000', '');

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const ANY_USAGE = '2.5.29.37.0';

/** A certificate without the extension is valid for any use (RFC 5280, 4.2.1.12). */
function servesTls({ keyUsage }: X509Certificate): boolean {
  return keyUsage === undefined || keyUsage.includes(SERVER_AUTH) || keyUsage.includes(ANY_USAGE);
}

export function missingIssuer({ leaf, chain }: Pick<CertificateMaterial, 'leaf' | 'chain'>): string | null {
  const last = chain.at(-1) ?? leaf;
  return isIssuedBy(last, last) ? null : (last.issuer ?? '').replaceAll('\n', ', ');
}

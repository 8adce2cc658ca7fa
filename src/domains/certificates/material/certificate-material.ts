import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type InputIssue, invalid } from '../../../platform/errors.ts';
import { chainProblem, isIssuedBy, isSelfSigned, shownName } from './chain.ts';
import { type PemBlock, pemBlocks } from './pem-blocks.ts';
import { unusualCurve, weaknessOf } from './weakness.ts';

/**
 * Certificates with their keys as people give them: PEM texts, of which everything is found out and judged before a broker gets them.
 *
 * A certificate with its private key is a server's; one without has to be an authority, which vouches for clients. `cert` has it
 * first, then what is known of its chain; a private key may stand in the same text, or beside it. Nothing of a key is in a reason.
 */
export interface MaterialInput {
  readonly cert: string;
  readonly privateKey?: string | null | undefined;
}

export interface CertificateMaterial {
  readonly leaf: X509Certificate;
  /** Those after it, each the issuer of the one before. */
  readonly chain: readonly X509Certificate[];
  /** The certificates alone, as PEM, leaf first: comments, keys and other blocks are gone. */
  readonly cert: string;
  /** PKCS #8 PEM; null: there is none. */
  readonly key: string | null;
}

/** In UTF-16 code units: a chain of five with dumps of their contents has some 40,000. */
export const MAX_PEM = 100_000;
const MAX_CERTIFICATES = 20;

/** Errors: INVALID with issues at `cert` and `privateKey`; see materialIssues. */
export function checkedMaterial(input: MaterialInput, now = Date.now()): CertificateMaterial {
  const material = readMaterial(input);
  const issues = materialIssues(material, now);
  if (issues.length > 0) throw invalid(issues);
  return material;
}

/** What the texts hold, and whether key and chain belong together, however old or weak they are. Errors: INVALID. */
export function readMaterial({ cert, privateKey }: MaterialInput): CertificateMaterial {
  const issues: InputIssue[] = [];
  const inCert = blocksOf(cert, 'cert', issues);
  const beside = privateKey == null ? [] : blocksOf(privateKey, 'privateKey', issues);
  if (issues.length > 0) throw invalid(issues);
  const certificates = readCertificates(inCert, issues);
  const key = readKey(inCert, beside, issues);
  if (issues.length > 0) throw invalid(issues);
  const [leaf, ...chain] = certificates;
  if (leaf === undefined) throw invalid([{ path: 'cert', reason: 'holds no certificate' }]);
  const problem = chainProblem(certificates);
  if (problem !== null) issues.push({ path: 'cert', reason: problem });
  if (key !== null && !leaf.checkPrivateKey(key)) issues.push({ path: 'privateKey', reason: strayKey(key, chain) });
  if (issues.length > 0) throw invalid(issues);
  return {
    leaf,
    chain,
    cert: certificates.map(String).join(''),
    key: key?.export({ type: 'pkcs8', format: 'pem' }).toString() ?? null,
  };
}

/** Why it must not be deployed at that moment (epoch milliseconds): out of its time, weak, or of no use. Empty: it may be. */
export function materialIssues({ leaf, chain, key }: CertificateMaterial, now = Date.now()): InputIssue[] {
  const reasons = [leaf, ...chain].flatMap((certificate, index) => {
    const found = [ageProblem(certificate, now), weaknessOf(certificate, isSelfSigned(certificate))];
    return found
      .filter((reason) => reason !== null)
      .map((reason) => (index === 0 ? reason : `${shownName(certificate)} of its chain ${reason}`));
  });
  const curve = key === null ? null : unusualCurve(leaf);
  const issues = [...reasons, ...(curve === null ? [] : [curve])].map((reason) => ({ path: 'cert', reason }));
  if (key === null && !leaf.ca) issues.push({ path: 'privateKey', reason: NEEDS_KEY });
  if (key !== null && !servesTls(leaf)) issues.push({ path: 'cert', reason: NOT_FOR_SERVERS });
  return issues;
}

/** The first thing that is wrong, as a sentence: how a broker refuses it. */
export function materialRefusal([issue]: readonly InputIssue[]): string {
  if (issue === undefined) return 'The certificate cannot be used';
  const { path, reason } = issue;
  if (path === 'cert') return `The certificate ${reason}`;
  return reason.startsWith('the ') ? `T${reason.slice(1)}` : `The private key ${reason}`;
}

const NEEDS_KEY =
  'the private key is missing: the certificate is no authority, so it can only be a server’s. Of the certificates of clients, store the authority that issued them';
const NOT_FOR_SERVERS = 'is not meant for servers: its extended key usage does not say serverAuth';

function blocksOf(text: string, path: string, issues: InputIssue[]): readonly PemBlock[] {
  if (text.length > MAX_PEM) {
    issues.push({ path, reason: `must have at most ${MAX_PEM} characters` });
    return [];
  }
  const { blocks, problem } = pemBlocks(text);
  if (problem !== null) issues.push({ path, reason: problem });
  return blocks;
}

const CERTIFICATE = /^(X509 )?CERTIFICATE$/;
const KEY = /PRIVATE KEY$/;
/** Files of keys have them, and nobody needs them. */
const PARAMETERS = /PARAMETERS$/;
const HINTS: Readonly<Record<string, string>> = {
  'CERTIFICATE REQUEST': 'an authority makes a certificate of it first',
  'NEW CERTIFICATE REQUEST': 'an authority makes a certificate of it first',
  'TRUSTED CERTIFICATE': '`openssl x509` makes a certificate without trust settings of it',
};

function readCertificates(blocks: readonly PemBlock[], issues: InputIssue[]): X509Certificate[] {
  const certificates: X509Certificate[] = [];
  for (const { label, text } of blocks) {
    if (CERTIFICATE.test(label)) {
      const certificate = parsed(text);
      if (certificate !== null) certificates.push(certificate);
      else
        issues.push({
          path: 'cert',
          reason: `has a certificate that cannot be read, the ${certificates.length + 1}. one`,
        });
    } else if (!KEY.test(label) && !PARAMETERS.test(label)) {
      const hint = HINTS[label] === undefined ? '' : `: ${HINTS[label]}`;
      issues.push({ path: 'cert', reason: `holds a ${label}, which is no certificate${hint}` });
    }
    if (certificates.length > MAX_CERTIFICATES || issues.length > MAX_CERTIFICATES) {
      issues.push({ path: 'cert', reason: `must hold at most ${MAX_CERTIFICATES} certificates` });
      break;
    }
  }
  return certificates;
}

function parsed(text: string): X509Certificate | null {
  try {
    const certificate = new X509Certificate(text);
    // Read on demand: one that OpenSSL does not know is of no use.
    void certificate.publicKey;
    const hasTimes = !Number.isNaN(Date.parse(certificate.validFrom) + Date.parse(certificate.validTo));
    return hasTimes ? certificate : null;
  } catch {
    return null;
  }
}

function readKey(inCert: readonly PemBlock[], beside: readonly PemBlock[], issues: InputIssue[]): KeyObject | null {
  const keys = [...inCert, ...beside].filter(({ label }) => KEY.test(label));
  if (beside.length > 0 && !beside.some(({ label }) => KEY.test(label))) {
    issues.push({ path: 'privateKey', reason: `the private key is a ${beside[0]?.label}, which is none` });
  }
  if (keys.length > 1)
    issues.push({ path: 'privateKey', reason: `the private key is there ${keys.length} times: one is needed` });
  const [block] = keys;
  if (block === undefined || issues.length > 0) return null;
  if (block.label === 'ENCRYPTED PRIVATE KEY' || /^Proc-Type: *4, *ENCRYPTED/m.test(block.text)) {
    issues.push({
      path: 'privateKey',
      reason: 'the private key is encrypted: `openssl pkey` writes it without its passphrase',
    });
    return null;
  }
  if (block.label === 'OPENSSH PRIVATE KEY') {
    issues.push({
      path: 'privateKey',
      reason: 'the private key is written for OpenSSH: `ssh-keygen -p -m PKCS8` writes it for others',
    });
    return null;
  }
  try {
    return createPrivateKey(block.text);
  } catch {
    // What OpenSSL says of it may hold parts of it.
    issues.push({ path: 'privateKey', reason: 'the private key cannot be read' });
    return null;
  }
}

function strayKey(key: KeyObject, chain: readonly X509Certificate[]): string {
  const owner = chain.find((certificate) => certificate.checkPrivateKey(key));
  return owner === undefined
    ? 'the private key does not belong to the certificate'
    : `the private key does not belong to the first certificate but to ${shownName(owner)} of its chain`;
}

function ageProblem({ validFrom, validTo }: X509Certificate, now: number): string | null {
  if (Date.parse(validTo) < now) return `expired on ${moment(validTo)}`;
  return Date.parse(validFrom) > now ? `is not valid before ${moment(validFrom)}` : null;
}

const moment = (text: string): string => new Date(text).toISOString().replace('.000', '');

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const ANY_USAGE = '2.5.29.37.0';

/** Without the extension a certificate is for everything (RFC 5280, 4.2.1.12). */
function servesTls({ keyUsage }: X509Certificate): boolean {
  return keyUsage === undefined || keyUsage.includes(SERVER_AUTH) || keyUsage.includes(ANY_USAGE);
}

/** The name of who issued the last certificate, where that is not in the bundle: servers and clients have to know it. Null: it is. */
export function missingIssuer({ leaf, chain }: Pick<CertificateMaterial, 'leaf' | 'chain'>): string | null {
  const last = chain.at(-1) ?? leaf;
  return isIssuedBy(last, last) ? null : (last.issuer ?? '').replaceAll('\n', ', ');
}

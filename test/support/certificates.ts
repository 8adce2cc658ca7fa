import { execFileSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, generatePrimeSync, type KeyObject, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface CertificateWanted {
  /** Common name. Default: `broker`. */
  readonly name?: string;
  /** In the notation of openssl. Default: `DNS:localhost` and `IP:127.0.0.1`; none for an authority. */
  readonly altNames?: readonly string[];
  /** Default: `ec` (P-256). `rsa-exponent`: 2,048 bits, with a public exponent of almost the same size. */
  readonly key?: 'ec' | 'rsa-2048' | 'rsa-1024' | 'rsa-8256' | 'rsa-exponent' | 'ed25519';
  /** Default: `sha256`. */
  readonly digest?: 'sha256' | 'sha1';
  /** Validity. Default: from an hour ago, for a year. */
  readonly from?: Date;
  readonly to?: Date;
  /** Whether the basic constraints contain `CA:TRUE`. Default: false. */
  readonly isAuthority?: boolean;
}

/** PEM texts. */
export interface TestCertificate {
  /** The certificate without its chain. */
  readonly leaf: string;
  /** The certificate, then the intermediate authorities. */
  readonly cert: string;
  /** PKCS #8, not encrypted. */
  readonly key: string;
  /** In the notation of node:crypto: `AB:CD:…`. */
  readonly fingerprint256: string;
  /** Creates a certificate that is signed with the key of this one. */
  issue(wanted?: CertificateWanted): TestCertificate;
}

/** Creates a root authority. */
export const createAuthority = (wanted: CertificateWanted = {}): TestCertificate =>
  create({ name: 'Test authority', altNames: [], isAuthority: true, ...wanted }, null);

/** Creates a self-signed certificate that is not an authority. */
export const createSelfSigned = (wanted: CertificateWanted = {}): TestCertificate => create(wanted, null);

const HOUR_MS = 3_600_000;

/** `by`: the issuer; `null` for a self-signed certificate. Takes about 30 ms, because openssl runs twice. */
function create(wanted: CertificateWanted, by: TestCertificate | null): TestCertificate {
  const { name = 'broker', altNames = ['DNS:localhost', 'IP:127.0.0.1'], isAuthority = false } = wanted;
  const { from = new Date(Date.now() - HOUR_MS), to = new Date(Date.now() + 365 * 24 * HOUR_MS) } = wanted;
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const file = (suffix: string) => join(folder, suffix);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  try {
    const key = String(newKey(wanted.key ?? 'ec').export({ type: 'pkcs8', format: 'pem' }));
    mkdirSync(file('issued'));
    writeFileSync(file('index'), '');
    writeFileSync(file('key.pem'), key);
    writeFileSync(file('ca.pem'), by?.leaf ?? '');
    writeFileSync(file('ca-key.pem'), by?.key ?? key);
    writeFileSync(file('openssl.cnf'), configuration(folder, wanted.digest ?? 'sha256', isAuthority, altNames));
    const request = ['req', '-new', '-config', file('openssl.cnf'), '-key', file('key.pem'), '-out', file('csr')];
    openssl(...request, '-subj', `/CN=${name}`);
    const signing = by === null ? ['-selfsign'] : ['-cert', file('ca.pem')];
    openssl(
      ...['ca', '-batch', '-notext', '-config', file('openssl.cnf'), '-in', file('csr'), '-out', file('cert.pem')],
      ...['-keyfile', file('ca-key.pem'), '-startdate', moment(from), '-enddate', moment(to), ...signing],
    );
    const leaf = readFileSync(file('cert.pem'), 'utf8');
    // A chain does not contain the root, because clients have it.
    const chain = by === null || isRoot(by) ? '' : by.cert;
    const made: TestCertificate = {
      leaf,
      cert: leaf + chain,
      key,
      fingerprint256: new X509Certificate(leaf).fingerprint256,
      issue: (next = {}) => create(next, made),
    };
    return made;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function newKey(kind: NonNullable<CertificateWanted['key']>): KeyObject {
  if (kind === 'ec') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  if (kind === 'ed25519') return generateKeyPairSync('ed25519').privateKey;
  if (kind === 'rsa-exponent') return keyWithLargeExponent();
  const bits = Number(kind.slice('rsa-'.length));
  return bits > 8_192 ? largeKey(bits) : generateKeyPairSync('rsa', { modulusLength: bits }).privateKey;
}

/** An RSA key of many primes with 64 bits, which takes milliseconds; two large primes would take a minute. */
function largeKey(bits: number): KeyObject {
  const e = EXPONENT;
  const factor = (primes: number) => {
    let [product, phi] = [1n, 1n];
    for (let left = primes; left > 0; ) {
      const prime = generatePrimeSync(64, { bigint: true });
      if (product % prime === 0n || (prime - 1n) % e === 0n) continue;
      [product, phi, left] = [product * prime, phi * (prime - 1n), left - 1];
    }
    return { product, phi };
  };
  const [p, q] = [factor(Math.ceil(bits / 128) + 1), factor(Math.ceil(bits / 128))];
  return rsaKey(p.product, q.product, e, inverse(e, p.phi * q.phi), p.phi, q.phi);
}

/** The public and the private exponent are exchanged. */
function keyWithLargeExponent(): KeyObject {
  const {
    d = '',
    p = '',
    q = '',
  } = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' });
  const numberOf = (text: string) => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
  const [first, second] = [numberOf(p), numberOf(q)];
  return rsaKey(first, second, numberOf(d), EXPONENT, first - 1n, second - 1n);
}

const EXPONENT = 65_537n;

function rsaKey(p: bigint, q: bigint, e: bigint, d: bigint, phiOfP: bigint, phiOfQ: bigint): KeyObject {
  const numbers = { n: p * q, e, d, p, q, dp: d % phiOfP, dq: d % phiOfQ, qi: inverse(q, p) };
  const encoded = Object.entries(numbers).map(([name, number]) => {
    const hex = number.toString(16);
    return [name, Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')];
  });
  return createPrivateKey({ key: { kty: 'RSA', ...Object.fromEntries(encoded) }, format: 'jwk' });
}

function inverse(number: bigint, modulus: bigint): bigint {
  let [r, next, s, nextS] = [number % modulus, modulus, 1n, 0n];
  while (next !== 0n) {
    const quotient = r / next;
    [r, next, s, nextS] = [next, r - quotient * next, nextS, s - quotient * nextS];
  }
  return ((s % modulus) + modulus) % modulus;
}

const isRoot = ({ leaf }: TestCertificate) => {
  const certificate = new X509Certificate(leaf);
  return certificate.verify(certificate.publicKey);
};

/** As `20261231235959Z`. */
const moment = (date: Date) => date.toISOString().replace(/[-:T]|\.\d+/g, '');

function configuration(folder: string, digest: string, isAuthority: boolean, altNames: readonly string[]): string {
  const extensions = [
    `basicConstraints = critical, CA:${isAuthority ? 'TRUE' : 'FALSE'}`,
    ...(isAuthority ? ['keyUsage = critical, keyCertSign, cRLSign'] : []),
    ...(altNames.length > 0 ? [`subjectAltName = ${altNames.join(', ')}`] : []),
    'subjectKeyIdentifier = hash',
    'authorityKeyIdentifier = keyid',
  ];
  return `
[req]
distinguished_name = name
[name]
[ca]
default_ca = test
[test]
new_certs_dir = ${folder}/issued
database = ${folder}/index
rand_serial = yes
unique_subject = no
default_md = ${digest}
policy = anything
x509_extensions = extensions
[anything]
commonName = supplied
[extensions]
${extensions.join('\n')}
`;
}

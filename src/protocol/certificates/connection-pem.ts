import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { pemBlocks } from './pem-blocks.ts';
import { oversizeOf } from './weakness.ts';

const CERTIFICATE = /^(X509 |TRUSTED )?CERTIFICATE$/;
/** Seven times those of the bundle of an operating system. */
const MAX_CERTIFICATES = 1_000;

/**
 * Why a text is not PEM of certificates: the trusted authorities of a connection, or its own certificate and the chain.
 * `null` if it is. OpenSSL itself ignores what follows the first certificate of `ca` that it cannot read.
 */
export function certificatesProblem(pem: string): string | null {
  const { blocks, problem } = pemBlocks(pem, 'CERTIFICATE');
  if (problem !== null) return problem;
  if (blocks.length > MAX_CERTIFICATES) return `must contain at most ${MAX_CERTIFICATES} certificates`;
  for (const [index, { label, text }] of blocks.entries()) {
    if (!CERTIFICATE.test(label)) return `contains a ${label}, which is not a certificate`;
    const certificate = readable(() => new X509Certificate(text));
    if (certificate === null) return `contains an invalid certificate at position ${index + 1}`;
    // OpenSSL does not support the types of the keys of all authorities, and ignores such an authority.
    const key = readable(() => certificate.publicKey);
    const oversize = key === null ? null : oversizeOf(key);
    if (oversize !== null) return `contains a certificate at position ${index + 1} that ${oversize}`;
  }
  return null;
}

/** Why a text is not the PEM of a private key, that of `cert` if there is one. `null` if it is. */
export function privateKeyProblem(pem: string, cert: string | null = null): string | null {
  const key = readable((): KeyObject => createPrivateKey(pem));
  if (key === null) return 'must be a private key in PEM, without a passphrase';
  const oversize = oversizeOf(key);
  if (oversize !== null) return oversize;
  const isPair = cert === null || new X509Certificate(plainPem(cert)).checkPrivateKey(key);
  return isPair ? null : 'does not belong to the client certificate';
}

function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Certificates as OpenSSL needs them: it does not see a block behind a byte order mark, or with other line ends. */
export function plainPem(pem: string | Buffer): string {
  const { blocks } = pemBlocks(String(pem), 'CERTIFICATE');
  return blocks.length === 0 ? String(pem) : blocks.map(({ text }) => text).join('');
}

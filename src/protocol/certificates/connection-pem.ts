import { X509Certificate } from 'node:crypto';
import { pemBlocks } from './pem-blocks.ts';

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
    try {
      new X509Certificate(text);
    } catch {
      return `contains an invalid certificate at position ${index + 1}`;
    }
  }
  return null;
}

/** Certificates as OpenSSL needs them: it does not see a block behind a byte order mark, or with other line ends. */
export function plainPem(pem: string | Buffer): string {
  const { blocks } = pemBlocks(String(pem), 'CERTIFICATE');
  return blocks.length === 0 ? String(pem) : blocks.map(({ text }) => text).join('');
}

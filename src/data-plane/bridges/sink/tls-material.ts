import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { InputIssue } from '../../../platform/errors.ts';
import { withoutNulls } from '../../../platform/without-nulls.ts';
import { flagSchema, type JsonSchema, textSchema } from '../model/bridge-kind.ts';

export interface TlsMaterial {
  /** Default: true. */
  readonly verifyCa?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export const tlsProperties: Readonly<Record<keyof TlsMaterial, JsonSchema>> = {
  verifyCa: flagSchema('Whether the certificate of the server and its host name are verified.', true),
  ca: textSchema(
    'PEM. Authorities that may sign the certificate of the server, instead of those that are known everywhere.',
  ),
  cert: textSchema('PEM. Certificate of this client.'),
  key: textSchema('PEM. Private key of that certificate.', { writeOnly: true }),
};

export const tlsOptions = ({ verifyCa = true, ca, cert, key }: TlsMaterial) => ({
  rejectUnauthorized: verifyCa,
  ...withoutNulls({ ca, cert, key }),
  // Each certificate of `ca` is trusted by itself, also that of an intermediate authority without its root.
  ...(ca === undefined ? {} : { allowPartialTrustChain: true }),
});

export function tlsMaterialIssues({ ca, cert, key }: TlsMaterial): InputIssue[] {
  if ((cert === undefined) !== (key === undefined)) {
    return [
      { path: cert === undefined ? '/cert' : '/key', reason: 'is needed: a certificate and its key go together' },
    ];
  }
  const issues: InputIssue[] = [];
  if (ca !== undefined && !isUsable(() => new X509Certificate(ca)))
    issues.push({ path: '/ca', reason: 'must be certificates in PEM' });
  if (cert !== undefined && key !== undefined && !isUsable(() => createSecureContext({ cert, key }))) {
    issues.push({ path: '/cert', reason: 'must be a certificate in PEM, and "key" its key' });
  }
  return issues;
}

export function isUsable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

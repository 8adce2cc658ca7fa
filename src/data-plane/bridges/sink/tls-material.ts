import { createSecureContext } from 'node:tls';
import type { InputIssue } from '../../../platform/errors.ts';
import { OUTGOING_TLS } from '../../../platform/network/outgoing-tls.ts';
import { withoutNulls } from '../../../platform/without-nulls.ts';
import { certificatesProblem, plainPem, privateKeyProblem } from '../../../protocol/certificates/connection-pem.ts';
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
  ...OUTGOING_TLS,
  rejectUnauthorized: verifyCa,
  ...withoutNulls({ ca: ca && plainPem(ca), cert: cert && plainPem(cert), key }),
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
  for (const [name, pem] of Object.entries({ ca, cert })) {
    const reason = pem === undefined ? null : certificatesProblem(pem);
    if (reason !== null) issues.push({ path: `/${name}`, reason });
  }
  if (issues.length > 0 || cert === undefined || key === undefined) return issues;
  const reason = privateKeyProblem(key, cert) ?? unusable(cert, key);
  return reason === null ? [] : [{ path: '/key', reason }];
}

function unusable(cert: string, key: string): string | null {
  try {
    createSecureContext({ cert: plainPem(cert), key });
    return null;
  } catch {
    return 'cannot be used with the client certificate';
  }
}

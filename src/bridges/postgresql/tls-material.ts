import { createSecureContext } from 'node:tls';
import type { InputIssue } from '../../errors.ts';
import type { ServerConfig } from './postgresql-config.ts';

/** Of certificates and keys that TLS cannot use. */
export function tlsMaterialIssues({ ca, cert, key }: ServerConfig): InputIssue[] {
  if ((cert === undefined) !== (key === undefined)) {
    return [
      { path: cert === undefined ? '/cert' : '/key', reason: 'is needed: a certificate and its key go together' },
    ];
  }
  const issues: InputIssue[] = [];
  if (ca !== undefined && !isUsable({ ca })) issues.push({ path: '/ca', reason: 'must be certificates in PEM' });
  if (cert !== undefined && key !== undefined && !isUsable({ cert, key })) {
    issues.push({ path: '/cert', reason: 'must be a certificate in PEM, and "key" its key' });
  }
  return issues;
}

function isUsable(material: { readonly ca: string } | { readonly cert: string; readonly key: string }): boolean {
  try {
    createSecureContext(material);
    return true;
  } catch {
    return false;
  }
}

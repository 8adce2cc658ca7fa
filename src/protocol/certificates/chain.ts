import type { X509Certificate } from 'node:crypto';
import { commonName } from '../../platform/network/tls-failure.ts';
import type { SlicedTask } from '../../platform/scheduling/sliced-task.ts';
import { oversizeOf } from './weakness.ts';

export const isSelfSigned = (certificate: X509Certificate): boolean => isIssuedBy(certificate, certificate);

/** Whether `by` issued a certificate, according to names and signature. False if the key of `by` is too large. */
export function isIssuedBy(certificate: X509Certificate, by: X509Certificate): boolean {
  try {
    const { publicKey } = by;
    return certificate.checkIssued(by) && oversizeOf(publicKey) === null && certificate.verify(publicKey);
  } catch {
    // OpenSSL does not support the type of the key or the signature.
    return false;
  }
}

const MAX_SHOWN = 100;

export function shownName({ subject = '' }: X509Certificate): string {
  const name = commonName(subject) ?? subject.replaceAll('\n', ', ');
  return `"${name.slice(0, MAX_SHOWN)}"`;
}

/** Why the certificates are not a chain in which each is issued by the next. `null` if they are. */
export function* chainProblem(certificates: readonly X509Certificate[]): SlicedTask<string | null> {
  const [first] = certificates;
  if (first === undefined || certificates.length === 1) return null;
  if (new Set(certificates.map(({ fingerprint256 }) => fingerprint256)).size < certificates.length) {
    return 'contains the same certificate twice';
  }
  const leaves = certificates.filter(({ ca }) => !ca);
  if (leaves.length > 1) {
    return `contains ${leaves.length} certificates that are not authorities, ${leaves.slice(0, 3).map(shownName).join(', ')}: only the first certificate may be none`;
  }
  const [leaf] = leaves;
  if (leaf !== undefined && leaf !== first) return `is out of order: ${shownName(leaf)} must come first`;
  for (const [index, certificate] of certificates.entries()) {
    const next = certificates[index + 1];
    yield;
    if (next === undefined || isIssuedBy(certificate, next)) continue;
    const issuer = yield* issuerAmong(certificates, certificate);
    return issuer === undefined
      ? `is not a chain: ${shownName(next)} did not issue ${shownName(certificate)}`
      : `is out of order: ${shownName(issuer)} must follow ${shownName(certificate)}, which it issued`;
  }
  return null;
}

function* issuerAmong(
  certificates: readonly X509Certificate[],
  certificate: X509Certificate,
): SlicedTask<X509Certificate | undefined> {
  for (const other of certificates) {
    yield;
    if (other !== certificate && isIssuedBy(certificate, other)) return other;
  }
  return undefined;
}

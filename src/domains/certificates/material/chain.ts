import type { X509Certificate } from 'node:crypto';

/** Signed with its own key. */
export const isSelfSigned = (certificate: X509Certificate): boolean => isIssuedBy(certificate, certificate);

/** By its names and by its signature. */
export function isIssuedBy(certificate: X509Certificate, by: X509Certificate): boolean {
  try {
    return certificate.checkIssued(by) && certificate.verify(by.publicKey);
  } catch {
    // A key or a signature of a kind that OpenSSL does not know.
    return false;
  }
}

const MAX_SHOWN = 100;

/** For people: the common name, or the whole name. */
export function shownName(certificate: X509Certificate): string {
  const name = /^CN=(.*)$/m.exec(certificate.subject ?? '')?.[1] ?? (certificate.subject ?? '').replaceAll('\n', ', ');
  return `"${name.slice(0, MAX_SHOWN)}"`;
}

/** Why certificates are no chain, the first one issued by the second one and so on; null: they are. */
export function chainProblem(certificates: readonly X509Certificate[]): string | null {
  const [first] = certificates;
  if (first === undefined || certificates.length === 1) return null;
  if (new Set(certificates.map(({ fingerprint256 }) => fingerprint256)).size < certificates.length) {
    return 'holds the same certificate twice';
  }
  const leaves = certificates.filter(({ ca }) => !ca);
  if (leaves.length > 1) {
    return `holds ${leaves.length} certificates that are no authorities, ${leaves.slice(0, 3).map(shownName).join(', ')}: only the first one may be none`;
  }
  const [leaf] = leaves;
  if (leaf !== undefined && leaf !== first) return `is out of order: ${shownName(leaf)} has to come first`;
  for (const [index, certificate] of certificates.entries()) {
    const next = certificates[index + 1];
    if (next === undefined || isIssuedBy(certificate, next)) continue;
    const issuer = certificates.find((other) => other !== certificate && isIssuedBy(certificate, other));
    return issuer === undefined
      ? `does not hang together: ${shownName(next)} did not issue ${shownName(certificate)}`
      : `is out of order: ${shownName(issuer)} has to follow ${shownName(certificate)}, which it issued`;
  }
  return null;
}

import type { KeyObject, X509Certificate } from 'node:crypto';

export type CertificateFacts = Readonly<ReturnType<typeof factsOf>>;

/** Times are in ISO 8601. Errors: those of OpenSSL for a key that it cannot read. */
export function factsOf(certificate: X509Certificate) {
  const { publicKey } = certificate;
  return {
    subject: distinguishedName(certificate.subject),
    issuer: distinguishedName(certificate.issuer),
    subjectAltNames: altNames(certificate.subjectAltName ?? ''),
    validFrom: certificate.validFromDate.toISOString(),
    validTo: certificate.validToDate.toISOString(),
    serialNumber: certificate.serialNumber,
    fingerprint256: certificate.fingerprint256,
    keyType: String(publicKey.asymmetricKeyType).toUpperCase(),
    keyBits: keyBits(publicKey),
    isAuthority: certificate.ca,
  };
}

/** Key size in bits. `null` if the key type has only one size, or for a curve without a known name. */
export function keyBits({ asymmetricKeyDetails }: KeyObject): number | null {
  const { modulusLength, namedCurve } = asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined) return modulusLength;
  const bits = /\d{3}/.exec(namedCurve ?? '')?.[0];
  return bits === undefined ? null : Number(bits);
}

const distinguishedName = (lines: string | undefined): string => (lines ?? '').replaceAll('\n', ', ');

/** Node.js returns `DNS:a, IP Address:::1`. Values that are ambiguous in this list are quoted as JSON. */
const ALT_NAME = /([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g;

function altNames(text: string): string[] {
  return Array.from(text.matchAll(ALT_NAME), ([, kind = '', value = '']) => {
    const name = value.startsWith('"') ? String(JSON.parse(value)) : value;
    return `${kind === 'IP Address' ? 'IP' : kind}:${name}`;
  });
}

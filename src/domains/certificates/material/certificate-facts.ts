import type { KeyObject, X509Certificate } from 'node:crypto';

/** What a certificate says of itself; moments are ISO 8601. */
export interface CertificateFacts {
  /** As `C=DE, O=Plant, CN=broker`. */
  readonly subject: string;
  readonly issuer: string;
  /** As `DNS:localhost`, `IP:127.0.0.1`. */
  readonly subjectAltNames: readonly string[];
  readonly validFrom: string;
  readonly validTo: string;
  /** Hexadecimal. */
  readonly serialNumber: string;
  /** As `AB:CD:…`. */
  readonly fingerprint256: string;
  /** As `RSA`, `EC`, `ED25519`. */
  readonly keyType: string;
  /** Null: the type has one size only. */
  readonly keyBits: number | null;
  /** Basic constraints say CA. */
  readonly isAuthority: boolean;
}

/** Errors: those of OpenSSL for a key that it cannot read. */
export function factsOf(certificate: X509Certificate): CertificateFacts {
  const { publicKey } = certificate;
  return {
    subject: distinguishedName(certificate.subject),
    issuer: distinguishedName(certificate.issuer),
    subjectAltNames: altNames(certificate.subjectAltName ?? ''),
    validFrom: new Date(certificate.validFrom).toISOString(),
    validTo: new Date(certificate.validTo).toISOString(),
    serialNumber: certificate.serialNumber,
    fingerprint256: certificate.fingerprint256,
    keyType: String(publicKey.asymmetricKeyType).toUpperCase(),
    keyBits: keyBits(publicKey),
    isAuthority: certificate.ca,
  };
}

/** Null: the type has one size only, or a curve that is not known by a name. */
export function keyBits({ asymmetricKeyDetails }: KeyObject): number | null {
  const { modulusLength, namedCurve } = asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined) return modulusLength;
  const bits = /\d{3}/.exec(namedCurve ?? '')?.[0];
  return bits === undefined ? null : Number(bits);
}

/** Node writes one attribute in each line; undefined: there are none. */
const distinguishedName = (lines: string | undefined): string => (lines ?? '').replaceAll('\n', ', ');

/** Node writes `DNS:a, IP Address:::1`, and as JSON text whatever could be taken for more than one. */
const ALT_NAME = /([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g;

function altNames(text: string): string[] {
  return Array.from(text.matchAll(ALT_NAME), ([, kind = '', value = '']) => {
    const name = value.startsWith('"') ? String(JSON.parse(value)) : value;
    return `${kind === 'IP Address' ? 'IP' : kind}:${name}`;
  });
}

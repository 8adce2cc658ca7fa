import type { KeyObject, X509Certificate } from 'node:crypto';
import { keyBits } from './certificate-facts.ts';

/* OpenSSL 3 at security level 2, the default of Debian (SSL_CTX_set_security_level(3)), refuses these certificates. */

const MIN_RSA_BITS = 2_048;
const MIN_CURVE_BITS = 224;
/** A signature with 8,192 bits takes 40 ms, 200 ms with a malformed key; with 16,384 bits it takes 300 ms. */
const MAX_RSA_BITS = 8_192;
/**
 * Authorities use 65,537. OpenSSL bounds exponents only above 3,072 bits of the modulus, to 64 bits. An exponent as
 * long as the modulus makes the verification of a signature 50 times slower: 7 ms.
 */
const MAX_EXPONENT_BITS = 32;
const CURVES_OF_TLS = ['prime256v1', 'secp384r1', 'secp521r1'];
const USABLE_KEYS = ['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448'];

const WEAK_SIGNATURES: Readonly<Record<string, string>> = {
  '2a864886f70d010102': 'MD2',
  '2a864886f70d010103': 'MD4',
  '2a864886f70d010104': 'MD5',
  '2a864886f70d010105': 'SHA-1',
  '2a8648ce3d0401': 'SHA-1',
  '2a8648ce380403': 'SHA-1',
  '2b0e03021d': 'SHA-1',
};
const PRIME_FIELD = '2a8648ce3d0101';
const RSA_PSS = '2a864886f70d01010a';
const SHA_1 = '2b0e03021a';

/** Why brokers refuse a certificate, or `null`. Signatures of roots are ignored. Errors: as `factsOf`. */
export function weaknessOf(certificate: X509Certificate, isRoot: boolean): string | null {
  const { publicKey } = certificate;
  const type = String(publicKey.asymmetricKeyType);
  if (!USABLE_KEYS.includes(type)) return `has a key of type ${type}, which TLS does not support`;
  const bits = keyBits(publicKey);
  if (type.startsWith('rsa') && bits !== null && bits < MIN_RSA_BITS) {
    return `is weak: its RSA key has ${bits} bits, and brokers require at least ${MIN_RSA_BITS}`;
  }
  if (type === 'ec' && bits !== null && bits < MIN_CURVE_BITS) {
    return `is weak: its EC key has ${bits} bits, and brokers require at least ${MIN_CURVE_BITS}`;
  }
  const digest = isRoot ? null : weakDigest(certificate.raw);
  return digest === null ? null : `is weak: it is signed with ${digest}, which brokers and clients refuse`;
}

/**
 * Why a key is too large, or `null`. OpenSSL accepts private keys of any size, and signs with them in the thread of the
 * connection. Check a key before a signature is verified with it.
 */
export function oversizeOf(key: KeyObject): string | null {
  const { modulusLength: bits = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (bits > MAX_RSA_BITS) return `has a key of ${bits} bits: at most ${MAX_RSA_BITS} are allowed`;
  return publicExponent < 1n << BigInt(MAX_EXPONENT_BITS)
    ? null
    : `has a key whose public exponent has more than ${MAX_EXPONENT_BITS} bits`;
}

export function unusualCurve({ publicKey }: X509Certificate): string | null {
  if (publicKey.asymmetricKeyType !== 'ec') return null;
  // OpenSSL names a curve also where its parameters are written out, which RFC 5480, 2.1.1 forbids.
  const isExplicit = publicKey.export({ type: 'spki', format: 'der' }).includes(Buffer.from(PRIME_FIELD, 'hex'));
  const curve = isExplicit ? undefined : publicKey.asymmetricKeyDetails?.namedCurve;
  if (curve !== undefined && CURVES_OF_TLS.includes(curve)) return null;
  return `has a key on ${curve === undefined ? 'a curve without a name' : `the curve ${curve}`}, which TLS clients do not accept: use P-256, P-384 or P-521`;
}

/**
 * Name of a weak signature digest, or `null`. RFC 5280, 4.1: Certificate ::= SEQUENCE { tbsCertificate,
 * signatureAlgorithm SEQUENCE { algorithm, parameters }, signature }.
 */
function weakDigest(der: Buffer): string | null {
  const tbs = elementAt(der, elementAt(der, 0).start);
  const algorithm = elementAt(der, tbs.end);
  const identifier = elementAt(der, algorithm.start);
  const hex = der.subarray(identifier.start, identifier.end).toString('hex');
  if (hex !== RSA_PSS) return WEAK_SIGNATURES[hex] ?? null;
  // RSASSA-PSS-params ::= SEQUENCE { hashAlgorithm [0] DEFAULT sha1, … } (RFC 4055, 3.1).
  const parameters = elementAt(der, identifier.end);
  const hash = der.subarray(parameters.start, parameters.end);
  const isDefault = hash[0] !== 0xa0;
  return isDefault || hash.subarray(0, 2 + (hash[1] ?? 0)).includes(Buffer.from(SHA_1, 'hex')) ? 'SHA-1' : null;
}

/** Start and end of the content of a DER element. The input is well-formed, because OpenSSL has parsed it. */
function elementAt(der: Buffer, at: number): { readonly start: number; readonly end: number } {
  const first = der[at + 1] ?? 0;
  if (first < 0x80) return { start: at + 2, end: at + 2 + first };
  const bytes = first & 0x7f;
  const start = at + 2 + bytes;
  return { start, end: start + der.readUIntBE(at + 2, bytes) };
}

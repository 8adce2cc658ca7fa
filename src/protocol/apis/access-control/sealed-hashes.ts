import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Password hashes by account, as the embedded broker stores them. `null` if the account has no password. */
type PasswordHashes = ReadonlyMap<string, string | null>;

/** GIVEN: a broker sends the hashes. TO_TAKE: a broker receives them. */
type Direction = 'GIVEN' | 'TO_TAKE';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals password hashes for the transfer between two brokers over control topics, which other clients may read. The key
 * is derived from the password of the broker's administrator, which the broker and this service know. Format in Base64:
 * iv | tag | JSON.
 */
export function sealHashes(hashes: PasswordHashes, password: string, direction: Direction): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(password, direction), iv);
  const text = Buffer.concat([cipher.update(JSON.stringify([...hashes])), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64');
}

/** Returns `null` if the hashes were not sealed with this password and direction. */
export function openHashes(sealed: string, password: string, direction: Direction): PasswordHashes | null {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, keyOf(password, direction), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    // Written by `sealHashes`, since only the service and the broker have the key.
    return new Map(JSON.parse(text.toString()) as [string, string | null][]);
  } catch {
    return null;
  }
}

const keyOf = (password: string, direction: Direction) =>
  Buffer.from(hkdfSync('sha256', password, 'brokergraph/password-copies', direction, 32));

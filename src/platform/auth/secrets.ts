import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ServiceError } from '../errors.ts';

/**
 * A prefix for the kind, 43 random letters and digits (256 bits), and a checksum, so that secret scanners recognise
 * them. For 256 random bits a slow hash adds no security. Secrets of earlier versions have 43 characters of base64url
 * and no checksum.
 */
export const SECRET_PREFIX = { session: 'bgs_', projectToken: 'bgp_', invitation: 'bgi_' } as const;

/** The secrets that authenticate a request. */
export type SecretKind = Exclude<keyof typeof SECRET_PREFIX, 'invitation'>;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const WITH_CHECKSUM = new RegExp(`^bg[sp]_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
const WITHOUT_CHECKSUM = new RegExp(`^bg[sp]_[\\w-]{${RANDOM_LENGTH}}$`);

export function newSecret(kind: keyof typeof SECRET_PREFIX): string {
  const text = SECRET_PREFIX[kind] + randomText(RANDOM_LENGTH);
  return text + checksumOf(text);
}

/** `null` if the text is no session and no token of this service. */
export function kindOfSecret(secret: string): SecretKind | null {
  const isValid = WITH_CHECKSUM.test(secret)
    ? secret.endsWith(checksumOf(secret.slice(0, -CHECKSUM_LENGTH)))
    : WITHOUT_CHECKSUM.test(secret);
  if (!isValid) return null;
  return secret.startsWith(SECRET_PREFIX.session) ? 'session' : 'projectToken';
}

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The same error for all three cases, so that it reveals nothing about the presented secret. */
export const unknownCredential = (): ServiceError =>
  new ServiceError('UNAUTHORIZED', 'The session or token is unknown, expired or revoked');

/** Uniformly distributed characters: bytes that would favour the first characters are discarded. */
function randomText(length: number): string {
  const fair = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length))
      if (byte < fair && text.length < length) text += ALPHABET[byte % ALPHABET.length];
  }
  return text;
}

function checksumOf(text: string): string {
  let checksum = '';
  for (let rest = crc32(text); checksum.length < CHECKSUM_LENGTH; rest = Math.floor(rest / ALPHABET.length)) {
    checksum = ALPHABET[rest % ALPHABET.length] + checksum;
  }
  return checksum;
}

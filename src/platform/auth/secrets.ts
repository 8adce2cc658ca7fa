import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ServiceError } from '../errors.ts';

/**
 * Bearer secrets: a prefix that says what it is, 43 random letters and digits (256 bits), and 6 that sum up all before them, so that
 * scanners find secrets in texts and tell them from what only looks like one. Only the SHA-256 is stored; with 256 random bits a slow
 * hash would add nothing. Secrets made before there were sums are 43 characters of base64url after the prefix, and remain good.
 */
export const SECRET_PREFIX = { session: 'bgs_', projectToken: 'bgp_' } as const;

export type SecretKind = keyof typeof SECRET_PREFIX;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** As many of 62 as it takes for 256 bits, and for the 32 of the sum. */
const RANDOM_LENGTH = 43;
const SUM_LENGTH = 6;
const SUMMED = new RegExp(`^bg[sp]_[0-9A-Za-z]{${RANDOM_LENGTH + SUM_LENGTH}}$`);
const WITHOUT_SUM = new RegExp(`^bg[sp]_[\\w-]{${RANDOM_LENGTH}}$`);

export function newSecret(kind: SecretKind): string {
  const unsummed = SECRET_PREFIX[kind] + randomText(RANDOM_LENGTH);
  return unsummed + sumOf(unsummed);
}

/** Null for what is no secret of this service, so that nobody has to be asked about it. */
export function kindOfSecret(secret: string): SecretKind | null {
  if (SUMMED.test(secret) ? !secret.endsWith(sumOf(secret.slice(0, -SUM_LENGTH))) : !WITHOUT_SUM.test(secret))
    return null;
  return secret.startsWith(SECRET_PREFIX.session) ? 'session' : 'projectToken';
}

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The same for each of the three, so that it tells nothing about what was presented. */
export const unknownCredential = (): ServiceError =>
  new ServiceError('UNAUTHORIZED', 'The session or token is unknown, expired or revoked');

/** Each character as likely as the other: bytes that would favour the first ones are thrown away. */
function randomText(length: number): string {
  const fair = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length))
      if (byte < fair && text.length < length) text += ALPHABET[byte % ALPHABET.length];
  }
  return text;
}

function sumOf(text: string): string {
  let sum = '';
  for (let rest = crc32(text); sum.length < SUM_LENGTH; rest = Math.floor(rest / ALPHABET.length)) {
    sum = ALPHABET[rest % ALPHABET.length] + sum;
  }
  return sum;
}

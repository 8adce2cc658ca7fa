import { randomBytes } from 'node:crypto';

/**
 * Random numbers of this process, so that clients cannot choose topics that collide. The hashes are not cryptographic.
 */
const SECRETS = new Int32Array(new Uint8Array(randomBytes(20)).buffer);
const SEED = SECRETS[0] as number;
const FACTOR = (SECRETS[1] as number) | 1;
const OTHER_FACTOR = (SECRETS[2] as number) | 1;
const LAST_FACTOR = (SECRETS[3] as number) | 1;
const OTHER_SEED = SECRETS[4] as number;

/** Even and odd units are hashed separately, so that the processor can compute both hashes in parallel. */
export function hashOfText(text: string, from: number, to: number): number {
  let hash = SEED;
  let other = OTHER_SEED;
  const last = to - 1;
  let at = from;
  for (; at < last; at += 2) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FACTOR);
    other = Math.imul(other ^ text.charCodeAt(at + 1), OTHER_FACTOR);
    hash ^= hash >>> 15;
    other ^= other >>> 15;
  }
  if (at < to) hash = Math.imul(hash ^ text.charCodeAt(at), LAST_FACTOR);
  return stirred(Math.imul(hash, OTHER_FACTOR) ^ other);
}

export function hashOfPair(a: number, b: number): number {
  const hash = Math.imul(a ^ SEED, FACTOR);
  return stirred(Math.imul(hash ^ (hash >>> 15) ^ b, OTHER_FACTOR));
}

function stirred(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), LAST_FACTOR);
  return once ^ (once >>> 15);
}

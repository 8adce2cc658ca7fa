import { randomBytes } from 'node:crypto';

/**
 * Hashes with secrets of this process: who chooses topics from outside cannot choose ones that collide. Not cryptographic.
 */
const SECRETS = new Int32Array(new Uint8Array(randomBytes(16)).buffer);
const SEED = SECRETS[0] as number;
const FACTOR = (SECRETS[1] as number) | 1;
const OTHER_FACTOR = (SECRETS[2] as number) | 1;
const LAST_FACTOR = (SECRETS[3] as number) | 1;

export function hashOfText(text: string, from: number, to: number): number {
  let hash = SEED;
  for (let at = from; at < to; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), FACTOR);
    hash ^= hash >>> 15;
  }
  return stirred(hash);
}

export function hashOfPair(a: number, b: number): number {
  const hash = Math.imul(a ^ SEED, FACTOR);
  return stirred(Math.imul(hash ^ (hash >>> 15) ^ b, OTHER_FACTOR));
}

function stirred(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), LAST_FACTOR);
  return once ^ (once >>> 15);
}

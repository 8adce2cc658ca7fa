/** Signatures of Standard Webhooks 1.0 (standardwebhooks.com), symmetric: `v1`, HMAC-SHA256. */
import { createHmac } from 'node:crypto';

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
/** Bytes of a secret, by the specification. */
const SHORTEST = 24;
const LONGEST = 64;

/** `null` if `secret` is one secret, or several separated by spaces. */
export function secretProblem(secret: string): string | null {
  const keys = secret.split(' ').map(keyOf);
  if (keys.some((key) => key === null))
    return 'must be "whsec_" and base64, or several of these with one space between';
  const isOfLength = keys.every((key) => key !== null && key.length >= SHORTEST && key.length <= LONGEST);
  return isOfLength ? null : `must have ${SHORTEST} to ${LONGEST} bytes behind "whsec_"`;
}

/** Signs the bytes that are sent, once per secret. `timestamp`: seconds since 1970. */
export function signaturesOf(secret: string, id: string, timestamp: number, body: Buffer): string {
  return secret
    .split(' ')
    .map((each) => `v1,${signature(keyOf(each) ?? Buffer.alloc(0), id, timestamp, body)}`)
    .join(' ');
}

const signature = (key: Buffer, id: string, timestamp: number, body: Buffer): string =>
  createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');

function keyOf(secret: string): Buffer | null {
  const text = SECRET.exec(secret)?.[1];
  return text === undefined ? null : Buffer.from(text, 'base64');
}

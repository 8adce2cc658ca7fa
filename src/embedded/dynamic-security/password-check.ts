import { createHmac, pbkdf2, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';

/** RFC 7914 with the cost that OWASP names for interactive logins; 16 MiB and some 50 ms each. */
export const ADMINISTRATOR_COST: PasswordCost = { N: 16_384, r: 8, p: 1 };
/** Of devices, which come back by the thousand: 1 MiB and some 2.5 ms each. */
export const ACCOUNT_COST: PasswordCost = { N: 1_024, r: 8, p: 1 };
const KEY_BYTES = 32;

export interface PasswordCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** `scrypt$<N>$<r>$<p>$<salt, base64>$<key, base64>` */
export async function hashPassword(password: Uint8Array | string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, KEY_BYTES, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Checks passwords against their hashes, two at a time, because every check costs as much as hundreds of messages or more.
 *
 * A password that was right is remembered as a keyed digest (the key dies with the process), so that a thousand devices that
 * reconnect with one account cost one check. Bounds: `maxWaiting` checks wait, further ones are BUSY; `maxRemembered` digests.
 */
export class PasswordCheck {
  readonly #key = randomBytes(32);
  readonly #maxWaiting: number;
  readonly #right: LRUCache<string, Buffer>;
  readonly #underWay = new Map<string, Promise<boolean>>();
  readonly #tails: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
  #turn = 0;

  constructor({ maxWaiting = 1_024, maxRemembered = 20_000 } = {}) {
    this.#maxWaiting = maxWaiting;
    this.#right = new LRUCache({ max: maxRemembered });
  }

  async check(password: Uint8Array, hash: string): Promise<'RIGHT' | 'WRONG' | 'BUSY'> {
    const digest = createHmac('sha256', this.#key).update(hash).update(password).digest();
    const known = this.#right.get(hash);
    if (known && timingSafeEqual(known, digest)) return 'RIGHT';
    const name = digest.toString('base64');
    let pending = this.#underWay.get(name);
    if (!pending) {
      if (this.#underWay.size >= this.#maxWaiting) return 'BUSY';
      const turn = this.#turn;
      this.#turn = (turn + 1) % this.#tails.length;
      pending = (this.#tails[turn] as Promise<unknown>)
        .then(() => matches(password, hash))
        .finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, pending);
      this.#tails[turn] = pending.catch(() => false);
    }
    if (!(await pending)) return 'WRONG';
    this.#right.set(hash, digest);
    return 'RIGHT';
  }
}

/** Hashes of this file, and Mosquitto's own: `$7$<iterations>$<salt>$<key>`, PBKDF2 with SHA-512. */
async function matches(password: Uint8Array, hash: string): Promise<boolean> {
  const [scheme, ...parts] = hash.split('$');
  if (scheme === '' && parts[0] === '7') {
    const [, iterations, salt = '', key = ''] = parts;
    const expected = Buffer.from(key, 'base64');
    return isEqual(await pbkdf2Key(password, Buffer.from(salt, 'base64'), Number(iterations), 64, 'sha512'), expected);
  }
  const [N, r, p, salt, key] = parts;
  if (scheme !== 'scrypt' || salt === undefined || key === undefined) return false;
  const expected = Buffer.from(key, 'base64');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return isEqual(await derive(password, Buffer.from(salt, 'base64'), KEY_BYTES, cost), expected);
}

const isEqual = (actual: Uint8Array, expected: Uint8Array): boolean =>
  expected.length === actual.length && timingSafeEqual(actual, expected);

const pbkdf2Key = promisify(pbkdf2);

function derive(password: Uint8Array | string, salt: Uint8Array, bytes: number, cost: PasswordCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, bytes, { ...cost, maxmem: 64 * 1_048_576 }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

import { createHmac, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** RFC 7914 with the cost that OWASP names for interactive logins; 16 MiB and some 50 ms each. */
const COST: ScryptOptions = { N: 16_384, r: 8, p: 1 };
const KEY_BYTES = 32;

/** `scrypt$<N>$<r>$<p>$<salt, base64>$<key, base64>` */
export async function hashPassword(password: Uint8Array | string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Checks passwords against their hashes, one at a time, because every check costs as much as thousands of messages.
 *
 * A password that was right is remembered as a keyed digest (the key dies with the process), so that a thousand devices that
 * reconnect with one account cost one check. Bounds: `maxWaiting` checks wait, further ones are BUSY; `maxRemembered` digests.
 */
export class PasswordCheck {
  readonly #key = randomBytes(32);
  readonly #maxWaiting: number;
  readonly #right: LRUCache<string, Buffer>;
  readonly #underWay = new Map<string, Promise<boolean>>();
  #tail: Promise<unknown> = Promise.resolve();

  constructor({ maxWaiting = 256, maxRemembered = 10_000 } = {}) {
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
      pending = this.#tail.then(() => matches(password, hash)).finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, pending);
      this.#tail = pending.catch(() => false);
    }
    if (!(await pending)) return 'WRONG';
    this.#right.set(hash, digest);
    return 'RIGHT';
  }
}

async function matches(password: Uint8Array, hash: string): Promise<boolean> {
  const [scheme, N, r, p, salt, key] = hash.split('$');
  if (scheme !== 'scrypt' || salt === undefined || key === undefined) return false;
  const expected = Buffer.from(key, 'base64');
  const actual = await derive(password, Buffer.from(salt, 'base64'), { N: Number(N), r: Number(r), p: Number(p) });
  return expected.length === actual.length && timingSafeEqual(actual, expected);
}

function derive(password: Uint8Array | string, salt: Uint8Array, cost: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, { ...cost, maxmem: 64 * 1_048_576 }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

import {
  type BinaryLike,
  createHmac,
  pbkdf2,
  randomBytes,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { entryLimit } from '../../../platform/limits/entry-limit.ts';
import { ConcurrencyLimit, QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';

/** Cost of scrypt (RFC 7914) that OWASP recommends for interactive log-ins: 16 MiB and about 50 ms. */
export const ADMINISTRATOR_COST = { N: 16_384, r: 8, p: 1 };
/** Cost for devices, thousands of which may reconnect: 1 MiB and about 2.5 ms. */
export const ACCOUNT_COST = { N: 1_024, r: 8, p: 1 };
type PasswordCost = Readonly<typeof ACCOUNT_COST>;
const KEY_BYTES = 32;

/** Returns `scrypt$<N>$<r>$<p>$<salt, base64>$<key, base64>`. */
export async function hashPassword(password: Uint8Array | string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), key.toString('base64')].join('$');
}

export interface PasswordAttempt {
  /** Part of the digest, so that the time of a refusal does not reveal whether two names have an account. */
  readonly username: string;
  readonly password: Uint8Array;
  readonly hash: string;
  readonly network: string;
  /** Called before the password is hashed: whether the result is still needed. */
  readonly isWanted?: () => boolean;
}

/** Different passwords of one account and network that wait. Devices of an account share one or two passwords. */
const MAX_PENDING_OF_ACCOUNT = 32;

type PasswordVerdict = 'RIGHT' | 'WRONG' | 'CROWDED' | 'BUSY';

interface Pending {
  readonly result: Promise<boolean | null>;
  readonly wanted: (() => boolean)[];
  /** Networks whose turn may run the check. */
  readonly networks: Set<string>;
  enqueue(network: string): void;
}

/**
 * Checks passwords against their hashes, two at a time, because a check costs as much as hundreds of messages. Networks
 * take turns, and equal attempts share one check. Results are remembered as digests with a key of this process, so a
 * thousand devices that reconnect with one account cost one check. Limits: `maxWaiting` waiting checks, 32 of one
 * account and network, and `maxRemembered` correct and as many wrong passwords.
 */
export class PasswordCheck {
  readonly #key = randomBytes(32);
  readonly #queue: ConcurrencyLimit;
  readonly #right: LRUCache<string, string>;
  readonly #wrong: LRUCache<string, true>;
  readonly #pending = new Map<string, Pending>();
  readonly #pendingOf = new Map<string, number>();
  hashed = 0;

  constructor({ maxWaiting = 1_024, maxRemembered = 20_000 } = {}) {
    this.#queue = new ConcurrencyLimit({ maxRunning: 2, maxWaiting });
    this.#right = new LRUCache(entryLimit(maxRemembered));
    this.#wrong = new LRUCache(entryLimit(maxRemembered));
  }

  /** Returns the result of an earlier check without hashing; `null` if none is remembered. */
  recall(attempt: PasswordAttempt): 'RIGHT' | 'WRONG' | null {
    return this.#recall(attempt.hash, this.#digestOf(attempt));
  }

  /** CROWDED: too many passwords of the account wait. BUSY: too many checks wait. `isNew`: it was hashed now. */
  async check(attempt: PasswordAttempt): Promise<{ verdict: PasswordVerdict; isNew: boolean }> {
    const { hash, network, isWanted = () => true } = attempt;
    const digest = this.#digestOf(attempt);
    const known = this.#recall(hash, digest);
    if (known !== null) return { verdict: known, isNew: false };
    const shared = this.#pending.get(digest);
    const pending = shared ?? this.#begin(digest, attempt);
    if (pending === null) return { verdict: 'CROWDED', isNew: false };
    pending.wanted.push(isWanted);
    pending.enqueue(network);
    const isRight = await pending.result;
    if (isRight === null) return { verdict: 'BUSY', isNew: false };
    return { verdict: isRight ? 'RIGHT' : 'WRONG', isNew: shared === undefined };
  }

  #begin(digest: string, { username, password, hash, network: first }: PasswordAttempt): Pending | null {
    const account = `${first} ${username}`;
    const count = this.#pendingOf.get(account) ?? 0;
    if (count >= MAX_PENDING_OF_ACCOUNT) return null;
    this.#pendingOf.set(account, count + 1);
    const { promise: result, resolve, reject } = withResolvers<boolean | null>();
    const wanted: (() => boolean)[] = [];
    const networks = new Set<string>();
    let isStarted = false;
    const end = () => {
      if (!this.#pending.delete(digest)) return;
      const left = (this.#pendingOf.get(account) ?? 1) - 1;
      if (left === 0) this.#pendingOf.delete(account);
      else this.#pendingOf.set(account, left);
    };
    const run = async () => {
      // The turn of another network has started the check.
      if (isStarted) return;
      isStarted = true;
      this.hashed += 1;
      const isRight = await matches(password, hash);
      if (isRight) this.#right.set(hash, digest);
      else this.#wrong.set(digest, true);
      end();
      resolve(isRight);
    };
    const isWanted = () => !isStarted && wanted.some((each) => each());
    const enqueue = (network: string) => {
      if (isStarted || networks.has(network)) return;
      networks.add(network);
      this.#queue.run(run, { key: network, isWanted }).catch((error: Error) => {
        networks.delete(network);
        if (isStarted && error instanceof QueueFull) return;
        if (networks.size > 0 && error instanceof QueueFull) return;
        end();
        if (error instanceof QueueFull) resolve(null);
        else reject(error);
      });
    };
    const pending = { result, wanted, networks, enqueue };
    this.#pending.set(digest, pending);
    return pending;
  }

  #recall(hash: string, digest: string): 'RIGHT' | 'WRONG' | null {
    // Both values are digests with a secret key, so the time of the comparison reveals nothing.
    if (this.#right.get(hash) === digest) return 'RIGHT';
    return this.#wrong.get(digest) === true ? 'WRONG' : null;
  }

  #digestOf({ username, password, hash }: PasswordAttempt): string {
    const named = `${hash} ${username.length} ${username} `;
    return createHmac('sha256', this.#key).update(named).update(password).digest('base64');
  }
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((resolveIt, rejectIt) => {
    resolve = resolveIt;
    reject = rejectIt;
  });
  return { promise, resolve, reject };
}

/** Supports hashes of `hashPassword`, and of Mosquitto: `$7$<iterations>$<salt>$<key>`, PBKDF2 with SHA-512. */
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
  return isEqual(await derive(password, Buffer.from(salt, 'base64'), cost), expected);
}

const isEqual = (actual: Uint8Array, expected: Uint8Array): boolean =>
  expected.length === actual.length && timingSafeEqual(actual, expected);

const pbkdf2Key = promisify(pbkdf2);
const scryptKey = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(scrypt);

const derive = (password: BinaryLike, salt: Uint8Array, cost: PasswordCost): Promise<Buffer> =>
  scryptKey(password, salt, KEY_BYTES, { ...cost, maxmem: 64 * 1_048_576 });

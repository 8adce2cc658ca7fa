import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import { networkOf } from '../limits/network.ts';

/** Failures that are free, for people who mistype. */
const FREE_FAILURES = 5;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Accounts remembered, and as many addresses: neither can push the other out. The longest unused is forgotten first. */
const MAX_KEYS = 10_000;
/** No account has a longer name, and callers choose what is remembered here. */
const MAX_ACCOUNT_LENGTH = 254;

interface Failures {
  count: number;
  blockedUntil: number;
}

/**
 * Slows down guessing, per account and per address: after five failures each further one doubles the wait, from one second
 * to fifteen minutes. Success forgets the account's failures. An address gets five times as many free failures, since
 * people share addresses. Each process counts for itself: with n of them behind one balancer there are n times the free failures.
 */
export class LoginThrottle {
  readonly #accounts = new LRUCache<string, Failures>({ max: MAX_KEYS, ttl: 60 * 60_000 });
  readonly #networks = new LRUCache<string, Failures>({ max: MAX_KEYS, ttl: 60 * 60_000 });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Throws RATE_LIMITED with `info.retryAfterSeconds` while the account or the address has to wait. */
  check(account: string, address: string): void {
    const accountUntil = this.#accounts.get(accountKey(account))?.blockedUntil ?? 0;
    const networkUntil = this.#networks.get(networkOf(address))?.blockedUntil ?? 0;
    const waitMs = Math.max(accountUntil, networkUntil) - this.#now();
    if (waitMs <= 0) return;
    const retryAfterSeconds = Math.ceil(waitMs / 1000);
    throw new ServiceError('RATE_LIMITED', `Too many failed log-ins; try again in ${retryAfterSeconds} s`, {
      info: { retryAfterSeconds },
    });
  }

  failed(account: string, address: string): void {
    this.#count(this.#accounts, accountKey(account), FREE_FAILURES);
    this.#count(this.#networks, networkOf(address), FREE_FAILURES * 5);
  }

  succeeded(account: string): void {
    this.#accounts.delete(accountKey(account));
  }

  #count(known: LRUCache<string, Failures>, key: string, free: number): void {
    const failures = known.get(key) ?? { count: 0, blockedUntil: 0 };
    failures.count += 1;
    const beyond = failures.count - free;
    if (beyond >= 0) failures.blockedUntil = this.#now() + Math.min(1_000 * 2 ** Math.min(beyond, 20), LONGEST_WAIT_MS);
    known.set(key, failures);
  }
}

/** Without accents: some directories take a letter with any of them for the plain one, and each spelling would be guessed at anew. */
const accountKey = (account: string): string =>
  account.slice(0, MAX_ACCOUNT_LENGTH).normalize('NFKD').replaceAll(/\p{M}/gu, '');

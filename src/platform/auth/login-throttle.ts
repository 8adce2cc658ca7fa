import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import { networkOf } from '../limits/network.ts';

/** Failures without a wait, for people who mistype: of one account from one network, … */
const FREE_FAILURES = 5;
/** … of one network at all accounts, since people share addresses, … */
const FREE_FAILURES_OF_NETWORK = 25;
/** … and of one account from all networks. */
const FREE_FAILURES_OF_ACCOUNT = 50;
const LONGEST_WAIT_MS = 15 * 60_000;
const HOUR_MS = 60 * 60_000;
/** Entries of each kind, so that none pushes out another kind. The one unused for longest is evicted. Some 10 MB for all. */
const MAX_KEYS = 20_000;
/** No account has a longer name, and callers choose what is remembered here. */
const MAX_ACCOUNT_LENGTH = 254;

interface Failures {
  count: number;
  blockedUntil: number;
}

/**
 * What is known of the caller. KNOWN_NETWORK: the account signed in from this network in the last 30 days. SIGNED_IN: the caller has a
 * session of the account, and confirms something.
 */
export type CallerTrust = 'NONE' | 'KNOWN_NETWORK' | 'SIGNED_IN';

export interface ThrottledAttempt {
  readonly account: string;
  readonly address: string;
  readonly trust: CallerTrust;
}

/**
 * Slows down guessing of passwords and codes. Three counts, each of which doubles its wait with every failure beyond the free ones, from
 * one second to 15 minutes: the account from one network, the network at all accounts, and the account from all networks. The last one
 * does not apply to known networks, so that strangers cannot keep a person from signing in. Callers who are signed in have a count of
 * their own.
 *
 * Guesses at one account: from one network 5 at once and at most 17 in an hour, 4 in each further hour without a pause; from any number
 * of unknown networks together 50 at once, at most 62 in the first hour and 4 in each further one, 154 in a day. The count of the account
 * ends 24 hours after the last failure and not by a sign-in, so pauses give no further guesses. The other two end after one hour, and
 * success ends that of the account from this network.
 *
 * Each process counts for itself: with n processes behind one balancer there are n times as many free failures.
 */
export class LoginThrottle {
  /** By account and network. */
  readonly #pairs: LRUCache<string, Failures>;
  readonly #networks: LRUCache<string, Failures>;
  readonly #accounts: LRUCache<string, Failures>;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    const failures = (ttl: number) =>
      new LRUCache<string, Failures>({ max: MAX_KEYS, ttl, ttlResolution: 0, perf: { now } });
    this.#pairs = failures(HOUR_MS);
    this.#networks = failures(HOUR_MS);
    this.#accounts = failures(24 * HOUR_MS);
  }

  /** Throws RATE_LIMITED with `info.retryAfterSeconds` while the caller has to wait. */
  check({ account, address, trust }: ThrottledAttempt): void {
    const counts = [
      this.#pairs.get(pairKey({ account, address, trust })),
      trust === 'SIGNED_IN' ? undefined : this.#networks.get(networkOf(address)),
      trust === 'NONE' ? this.#accounts.get(accountKey(account)) : undefined,
    ];
    const waitMs = Math.max(...counts.map((count) => count?.blockedUntil ?? 0)) - this.#now();
    if (waitMs <= 0) return;
    const retryAfterSeconds = Math.ceil(waitMs / 1000);
    throw new ServiceError('RATE_LIMITED', `Too many failed log-ins; try again in ${retryAfterSeconds} s`, {
      info: { retryAfterSeconds },
    });
  }

  failed(attempt: ThrottledAttempt): void {
    this.#count(this.#pairs, pairKey(attempt), FREE_FAILURES);
    if (attempt.trust === 'SIGNED_IN') return;
    this.#count(this.#networks, networkOf(attempt.address), FREE_FAILURES_OF_NETWORK);
    this.#count(this.#accounts, accountKey(attempt.account), FREE_FAILURES_OF_ACCOUNT);
  }

  succeeded(attempt: ThrottledAttempt): void {
    this.#pairs.delete(pairKey(attempt));
  }

  /** Ends the waits of an account. Those of networks stay. */
  unlock(account: string): void {
    const key = accountKey(account);
    this.#accounts.delete(key);
    for (const pair of [...this.#pairs.keys()]) if (pair.endsWith(`\n${key}`)) this.#pairs.delete(pair);
  }

  #count(known: LRUCache<string, Failures>, key: string, free: number): void {
    const failures = known.get(key) ?? { count: 0, blockedUntil: 0 };
    failures.count += 1;
    const beyond = failures.count - free;
    if (beyond >= 0) failures.blockedUntil = this.#now() + Math.min(1_000 * 2 ** Math.min(beyond, 20), LONGEST_WAIT_MS);
    known.set(key, failures);
  }
}

/** The network first, which holds no line break: account names may. */
const pairKey = ({ account, address, trust }: ThrottledAttempt): string =>
  `${trust === 'SIGNED_IN' ? 'signed in' : networkOf(address).replaceAll('\n', ' ')}\n${accountKey(account)}`;

/** Without accents: some directories take a letter with any of them for the plain one, and each spelling would be guessed at anew. */
export const accountKey = (account: string): string =>
  account.slice(0, MAX_ACCOUNT_LENGTH).normalize('NFKD').replaceAll(/\p{M}/gu, '');

import { ServiceError } from '../errors.ts';
import { FailureWait } from '../limits/failure-wait.ts';
import { networkOf } from '../limits/network.ts';

/** Failures without a wait of one account from one network: users mistype. */
const FREE_FAILURES = 5;
/** Failures without a wait of one network at all accounts: users share addresses. */
const FREE_FAILURES_OF_NETWORK = 25;
const FREE_FAILURES_OF_ACCOUNT = 50;
const LONGEST_WAIT_MS = 15 * 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** Maximum number of keys in each of the three failure counters, which take about 10 MB together when full. */
const MAX_KEYS = 20_000;
/** Callers choose the names that are stored here. */
const MAX_ACCOUNT_LENGTH = 254;

/** How far a caller is known. SIGNED_IN: the caller has a session of the account and confirms an operation. */
export type CallerTrust = 'NONE' | 'KNOWN_NETWORK' | 'SIGNED_IN';

export interface ThrottledAttempt {
  readonly account: string;
  readonly address: string;
  readonly trust: CallerTrust;
}

/** One of the counts that a failed attempt increases. */
export interface FailureCount {
  readonly kind: 'pair' | 'network' | 'account';
  /** The key in `failures`. */
  readonly name: string;
  /** `null` if the count is that of a network at all accounts. */
  readonly account: string | null;
  readonly failures: FailureWait;
}

/**
 * Slows down guessing of passwords and codes. Three counts, each of which doubles its wait with every failure beyond
 * the free ones, from one second to 15 minutes: the account from one network, the network at all accounts, and the
 * account from all networks. The last one does not apply to known networks, so strangers cannot prevent a user from
 * signing in. Callers who are signed in have a count of their own.
 *
 * Guesses at one account from one network: 5 without a wait, at most 17 in an hour, and 4 in each further hour. From
 * any number of unknown networks together: 50 without a wait, at most 62 in the first hour, 154 in a day. That count
 * ends 24 hours after the last failure, the others after one hour; a sign-in ends that of the account from this
 * network.
 *
 * The counts are in the memory of this process. LoginFailures adds those of other processes.
 */
export class LoginThrottle {
  readonly #pairs: FailureWait;
  readonly #networks: FailureWait;
  readonly #accounts: FailureWait;

  constructor(now: () => number = () => performance.now()) {
    const options = { longestWaitMs: LONGEST_WAIT_MS, maxKeys: MAX_KEYS, now };
    this.#pairs = new FailureWait({ ...options, free: FREE_FAILURES });
    this.#networks = new FailureWait({ ...options, free: FREE_FAILURES_OF_NETWORK });
    this.#accounts = new FailureWait({ ...options, free: FREE_FAILURES_OF_ACCOUNT, memoryMs: DAY_MS });
  }

  /** Throws RATE_LIMITED with `info.retryAfterSeconds` while the caller has to wait. */
  check(attempt: ThrottledAttempt): void {
    const { account, address, trust } = attempt;
    const waitMs = Math.max(
      this.#pairs.waitOf(pairKey(attempt)),
      trust === 'SIGNED_IN' ? 0 : this.#networks.waitOf(networkOf(address)),
      trust === 'NONE' ? this.#accounts.waitOf(accountKey(account)) : 0,
    );
    if (waitMs === 0) return;
    const retryAfterSeconds = Math.ceil(waitMs / 1000);
    throw new ServiceError('RATE_LIMITED', `Too many failed log-ins; try again in ${retryAfterSeconds} s`, {
      info: { retryAfterSeconds },
    });
  }

  failed(attempt: ThrottledAttempt): void {
    for (const { failures, name } of this.countsOf(attempt)) failures.failed(name);
  }

  /** Callers who are signed in have only the first count. */
  countsOf(attempt: ThrottledAttempt): readonly FailureCount[] {
    const account = accountKey(attempt.account);
    const pair = { kind: 'pair', name: pairKey(attempt), account, failures: this.#pairs } as const;
    if (attempt.trust === 'SIGNED_IN') return [pair];
    const network = networkOf(attempt.address);
    return [
      pair,
      { kind: 'network', name: network, account: null, failures: this.#networks },
      { kind: 'account', name: account, account, failures: this.#accounts },
    ];
  }

  /** Whether a sign-in ends a count. */
  hasFailed(attempt: ThrottledAttempt): boolean {
    return this.#pairs.hasFailed(pairKey(attempt));
  }

  succeeded(attempt: ThrottledAttempt): void {
    this.#pairs.succeeded(pairKey(attempt));
  }

  unlock(account: string): void {
    const key = accountKey(account);
    this.#accounts.succeeded(key);
    this.#pairs.evictEndingWith(`\n${key}`);
  }
}

/** The network first: it contains no line break, but account names may. */
const pairKey = ({ account, address, trust }: ThrottledAttempt): string =>
  `${trust === 'SIGNED_IN' ? 'signed in' : networkOf(address).replaceAll('\n', ' ')}\n${accountKey(account)}`;

/** Without accents: some directories ignore them, and each spelling would get free failures of its own. */
export const accountKey = (account: string): string =>
  account.slice(0, MAX_ACCOUNT_LENGTH).normalize('NFKD').replaceAll(/\p{M}/gu, '');

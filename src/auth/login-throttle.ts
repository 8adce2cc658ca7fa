import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';

/** Failures that are free, for people who mistype. */
const FREE_FAILURES = 5;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Accounts and addresses remembered; the longest unused is forgotten first. */
const MAX_KEYS = 20_000;

interface Failures {
  count: number;
  blockedUntil: number;
}

/**
 * Slows down guessing, per account and per address: after five failures each further one doubles the wait, from one second
 * to fifteen minutes. Success forgets the account's failures. An address gets five times as many free failures, since
 * people share addresses.
 */
export class LoginThrottle {
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_KEYS, ttl: 60 * 60_000 });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Throws RATE_LIMITED with `info.retryAfterSeconds` while the account or the address has to wait. */
  check(email: string, address: string): void {
    const until = Math.max(this.#blockedUntil(accountKey(email)), this.#blockedUntil(addressKey(address)));
    const waitMs = until - this.#now();
    if (waitMs <= 0) return;
    const retryAfterSeconds = Math.ceil(waitMs / 1000);
    throw new ServiceError('RATE_LIMITED', `Too many failed log-ins; try again in ${retryAfterSeconds} s`, {
      info: { retryAfterSeconds },
    });
  }

  /** Answers true when this failure began a wait, so that a burst is logged once. */
  failed(email: string, address: string): boolean {
    const account = this.#count(accountKey(email), FREE_FAILURES);
    const origin = this.#count(addressKey(address), FREE_FAILURES * 5);
    return account || origin;
  }

  succeeded(email: string): void {
    this.#failures.delete(accountKey(email));
  }

  #blockedUntil(key: string): number {
    return this.#failures.get(key)?.blockedUntil ?? 0;
  }

  #count(key: string, free: number): boolean {
    const failures = this.#failures.get(key) ?? { count: 0, blockedUntil: 0 };
    failures.count += 1;
    const beyond = failures.count - free;
    if (beyond >= 0) failures.blockedUntil = this.#now() + Math.min(1_000 * 2 ** Math.min(beyond, 20), LONGEST_WAIT_MS);
    this.#failures.set(key, failures);
    return beyond === 0;
  }
}

/** No account has a longer name, and callers choose what is remembered here. */
const MAX_KEY_LENGTH = 254;

const accountKey = (email: string): string => `account ${email.slice(0, MAX_KEY_LENGTH)}`;

/** Of IPv6 the network (/64): its holder has all addresses in it. */
function addressKey(address: string): string {
  const { v4, groups } = parseAddress(address);
  return `address ${v4 ?? groups?.slice(0, 4).join(':') ?? address.slice(0, MAX_KEY_LENGTH)}`;
}

function parseAddress(address: string): { readonly v4?: string; readonly groups?: readonly string[] } {
  const mapped = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return { v4: mapped };
  if (!isIPv6(address)) return {};
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => group.replace(/^0+(?=.)/, '')));
  const left = groups(head);
  const right = groups(tail ?? '');
  return { groups: [...left, ...Array(Math.max(8 - left.length - right.length, 0)).fill('0'), ...right] };
}

import { ServiceError } from '../errors.ts';
import { networkOf } from './network.ts';
import { RateLimit } from './rate-limit.ts';

const BURST_SECONDS = 10;

interface RatedCaller {
  readonly viewer: { readonly id: string } | null;
  readonly address: string;
}

/** Per second; `null`: no limit. */
interface RequestRatesOptions {
  readonly requests: number | null;
  readonly requestBytes: number | null;
  readonly subscriptions: number | null;
}

/**
 * Rates per person or project token over all connections; of callers without credentials per network. A burst may use
 * ten seconds' worth in one go. Errors: RATE_LIMITED with `info.retryAfterSeconds`.
 */
export class RequestRates {
  readonly #requests: RateLimit | null;
  readonly #requestBytes: RateLimit | null;
  readonly #subscriptions: RateLimit | null;

  constructor({ requests, requestBytes, subscriptions }: RequestRatesOptions) {
    this.#requests = limitOf(requests);
    this.#requestBytes = limitOf(requestBytes);
    this.#subscriptions = limitOf(subscriptions);
  }

  /** Takes one request, or one operation over a WebSocket. */
  request(caller: RatedCaller): void {
    take(this.#requests, caller, 1, 'requests');
  }

  /** Takes the bytes of a body or of a message over a WebSocket. */
  body(caller: RatedCaller, bytes: number): void {
    take(this.#requestBytes, caller, bytes, 'bytes of requests');
  }

  subscription(caller: RatedCaller): void {
    take(this.#subscriptions, caller, 1, 'new subscriptions');
  }
}

function limitOf(perSecond: number | null): RateLimit | null {
  return perSecond === null ? null : new RateLimit({ perSecond, burst: perSecond * BURST_SECONDS });
}

function take(limit: RateLimit | null, { viewer, address }: RatedCaller, amount: number, what: string): void {
  if (limit === null) return;
  // Ids have a prefix, so that no network has the name of one.
  const waitMs = limit.take(viewer === null ? networkOf(address) : viewer.id, amount);
  if (waitMs === 0) return;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  throw new ServiceError('RATE_LIMITED', `Too many ${what} per second; try again in ${retryAfterSeconds} s`, {
    info: { retryAfterSeconds },
  });
}

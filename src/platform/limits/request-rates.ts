import { ServiceError } from '../errors.ts';
import { networkOf } from './network.ts';
import { RateLimit } from './rate-limit.ts';

const BURST_SECONDS = 10;

export interface LimitedCaller {
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
  readonly request: (caller: LimitedCaller) => void;
  /** Takes the bytes of a body or of a message over a WebSocket. */
  readonly body: (caller: LimitedCaller, bytes: number) => void;
  readonly subscription: (caller: LimitedCaller) => void;

  constructor({ requests, requestBytes, subscriptions }: RequestRatesOptions) {
    this.request = limited(requests, 'requests');
    this.body = limited(requestBytes, 'bytes of requests');
    this.subscription = limited(subscriptions, 'new subscriptions');
  }
}

function limited(perSecond: number | null, what: string): (caller: LimitedCaller, amount?: number) => void {
  if (perSecond === null) return () => undefined;
  const limit = new RateLimit({ perSecond, burst: perSecond * BURST_SECONDS });
  return ({ viewer, address }, amount = 1) => {
    // Ids have a prefix, so that no network has the name of one.
    const waitMs = limit.take(viewer === null ? networkOf(address) : viewer.id, amount);
    if (waitMs === 0) return;
    const retryAfterSeconds = Math.ceil(waitMs / 1_000);
    throw new ServiceError('RATE_LIMITED', `Too many ${what} per second; try again in ${retryAfterSeconds} s`, {
      info: { retryAfterSeconds },
    });
  };
}

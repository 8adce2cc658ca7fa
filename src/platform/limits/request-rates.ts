import { ServiceError } from '../errors.ts';
import { Bursts } from './bursts.ts';
import { networkOf } from './network.ts';
import { RateLimit } from './rate-limit.ts';

const BURST_SECONDS = 10;

export interface LimitedCaller {
  readonly viewer: { readonly id: string } | null;
  readonly address: string;
}

/** `kind` and `name` are for the log. */
interface RatedCaller extends LimitedCaller {
  readonly viewer: { readonly id: string; readonly kind: string; readonly name: string } | null;
}

interface Exceeded {
  readonly caller: RatedCaller['viewer'];
  readonly address: string;
  readonly what: string;
}

/** Per second; `null`: no limit. */
interface RequestRatesOptions {
  readonly requests: number | null;
  readonly requestBytes: number | null;
  readonly subscriptions: number | null;
  /** Has a line when a caller starts to exceed a rate, and one when it has stopped for a minute. */
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void };
}

/**
 * Rates per person or project token over all connections; of callers without credentials per network. A burst may use
 * ten seconds' worth in one go. Errors: RATE_LIMITED with `info.retryAfterSeconds`.
 */
export class RequestRates {
  readonly request: (caller: RatedCaller) => void;
  /** Takes the bytes of a body or of a message over a WebSocket. */
  readonly body: (caller: RatedCaller, bytes: number) => void;
  readonly subscription: (caller: RatedCaller) => void;

  constructor({ requests, requestBytes, subscriptions, log }: RequestRatesOptions) {
    const bursts = new Bursts<Exceeded>({
      from: 1,
      onBegin: (exceeded) => log.warn(exceeded, 'a caller exceeds its rate; its requests are refused'),
      onEnd: (exceeded, refused, seconds) =>
        log.info({ ...exceeded, refused, seconds }, 'a caller does not exceed its rate any more'),
    });
    this.request = limited(requests, 'requests', bursts);
    this.body = limited(requestBytes, 'bytes of requests', bursts);
    this.subscription = limited(subscriptions, 'new subscriptions', bursts);
  }
}

function limited(
  perSecond: number | null,
  what: string,
  bursts: Bursts<Exceeded>,
): (caller: RatedCaller, amount?: number) => void {
  if (perSecond === null) return () => undefined;
  const limit = new RateLimit({ perSecond, burst: perSecond * BURST_SECONDS });
  return ({ viewer, address }, amount = 1) => {
    // Ids have a prefix, so that no network has the name of one.
    const key = viewer === null ? networkOf(address) : viewer.id;
    const waitMs = limit.take(key, amount);
    if (waitMs === 0) return;
    const caller = viewer && { kind: viewer.kind, id: viewer.id, name: viewer.name };
    bursts.add(`${what} ${key}`, { caller, address, what });
    const retryAfterSeconds = Math.ceil(waitMs / 1_000);
    throw new ServiceError('RATE_LIMITED', `Too many ${what} per second; try again in ${retryAfterSeconds} s`, {
      info: { retryAfterSeconds },
    });
  };
}

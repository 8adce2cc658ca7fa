import { ServiceError } from '../../platform/errors.ts';
import type { BrokerSession, Stop } from '../../protocol/mqtt/broker-session.ts';
import type { LeasedLink, LinkLease } from '../../protocol/mqtt/leased-link.ts';
import { whenConnected } from '../../protocol/mqtt/when-connected.ts';
import { MessageTail, type TailLimits } from './message-tail.ts';

interface OpenTail {
  readonly filter: string;
  readonly tail: MessageTail;
  ready: Promise<void>;
  isReady: boolean;
  isClosed: boolean;
  stop: Stop | null;
  /** Epoch milliseconds since when the tail has no subscribers; `null` if it has some. */
  idleSince: number | null;
}

interface BrokerTailsOptions {
  readonly observer: LeasedLink;
  readonly timeoutMs: number;
  /** A subscriber that reconnects within this time misses no messages. */
  readonly graceMs: number;
  readonly onEmpty: () => void;
}

export const MAX_FILTERS = 20;
export const MAX_TAILS = 100;

/**
 * All subscribers with the same filter and limits share a tail. Each filter has one MQTT subscription (QoS 0, so the
 * broker queues no messages) on the observing connection, which closes with the last tail.
 *
 * Outlives connections: call `detach` before the broker's link closes, `attach` with the next one. If the broker later
 * refuses the filter, the tail ends with the error.
 */
export class BrokerTails {
  readonly #options: BrokerTailsOptions;
  readonly #tails = new Map<string, OpenTail>();
  #observer: LeasedLink | null;
  #lease: LinkLease | null = null;
  #stopStatus: Stop = () => undefined;
  #sweep: NodeJS.Timeout | null = null;

  constructor(options: BrokerTailsOptions) {
    this.#options = options;
    this.#observer = options.observer;
  }

  /** Errors: RATE_LIMITED, NOT_ALLOWED (by the broker), and those of a link. */
  async open(filter: string, limits: TailLimits): Promise<MessageTail> {
    const key = `${limits.maxRate} ${limits.maxPayloadBytes} ${filter}`;
    const known = this.#tails.get(key) ?? this.#create(key, filter, limits);
    known.idleSince = null;
    await known.ready;
    return known.tail;
  }

  attach(observer: LeasedLink): void {
    this.#observer = observer;
    if (this.#tails.size > 0) this.#acquire();
  }

  detach(): void {
    this.#observer = null;
    this.#release();
    for (const open of this.#tails.values()) {
      open.stop = null;
      open.tail.connectionChanged(false);
    }
  }

  close(error?: ServiceError): void {
    for (const [key, open] of this.#tails) this.#end(key, open, error);
  }

  #create(key: string, filter: string, limits: TailLimits): OpenTail {
    if (this.#limitOn(filter) !== null) this.#endIdle(0);
    const limit = this.#limitOn(filter);
    if (limit !== null) {
      throw new ServiceError(
        'RATE_LIMITED',
        `At most ${limit} can be followed per broker: end another subscription first`,
      );
    }
    const open: OpenTail = {
      filter,
      tail: new MessageTail(limits),
      ready: Promise.resolve(),
      isReady: false,
      isClosed: false,
      stop: null,
      idleSince: null,
    };
    this.#tails.set(key, open);
    open.ready = this.#begin(key, open).catch((error: unknown) => {
      this.#end(key, open);
      throw error;
    });
    this.#sweep ??= setInterval(() => this.#endIdle(this.#options.graceMs), this.#options.graceMs / 5).unref();
    return open;
  }

  #limitOn(filter: string): string | null {
    if (this.#tails.size >= MAX_TAILS) return `${MAX_TAILS} combinations of topic filter and limits`;
    const filters = new Set([...this.#tails.values()].map((open) => open.filter));
    return filters.size >= MAX_FILTERS && !filters.has(filter) ? `${MAX_FILTERS} topic filters` : null;
  }

  async #begin(key: string, open: OpenTail): Promise<void> {
    const { session } = this.#acquire();
    await whenConnected(session, this.#options.timeoutMs);
    await this.#subscribe(key, open, session);
    open.isReady = true;
  }

  async #subscribe(key: string, open: OpenTail, session: BrokerSession): Promise<void> {
    const { filter, tail } = open;
    const onRefused = (error: ServiceError) => this.#end(key, open, refusalOf(filter, error));
    try {
      const stop = await session.subscribe(filter, tail.receive, { onRefused });
      if (open.isClosed || this.#lease?.session !== session) stop();
      else open.stop = stop;
    } catch (error) {
      throw refusalOf(filter, error);
    }
  }

  /** Subscribes again on a new connection. If the broker does not respond, the next connection retries. */
  async #resume(key: string, open: OpenTail, session: BrokerSession): Promise<void> {
    try {
      await this.#subscribe(key, open, session);
      if (open.stop !== null) open.tail.connectionChanged(true);
    } catch (error) {
      if (isRefusal(error)) this.#end(key, open, error);
    }
  }

  #acquire(): LinkLease {
    if (this.#lease !== null) return this.#lease;
    if (this.#observer === null) throw new ServiceError('BROKER_UNREACHABLE', 'Not connected yet');
    const lease = this.#observer.acquire();
    this.#lease = lease;
    this.#stopStatus = lease.session.onStatus(({ state }) => {
      for (const [key, open] of this.#tails) {
        // The link itself renews existing subscriptions.
        if (state !== 'CONNECTED' || open.stop !== null) open.tail.connectionChanged(state === 'CONNECTED');
        else if (open.isReady) void this.#resume(key, open, lease.session);
      }
    });
    return lease;
  }

  #release(): void {
    this.#stopStatus();
    this.#lease?.release();
    this.#lease = null;
  }

  /** A tail without `idleSince` may have just been opened. */
  #endIdle(forMs: number): void {
    const now = Date.now();
    for (const [key, open] of this.#tails) {
      const { idleSince } = open;
      if (open.tail.subscriberCount > 0 || !open.isReady) open.idleSince = null;
      else if (idleSince === null) open.idleSince = now;
      else if (now - idleSince >= forMs) this.#end(key, open);
    }
  }

  #end(key: string, open: OpenTail, error?: unknown): void {
    if (open.isClosed) return;
    open.isClosed = true;
    this.#tails.delete(key);
    open.stop?.();
    open.tail.close(error);
    if (this.#tails.size > 0) return;
    this.#release();
    if (this.#sweep) clearInterval(this.#sweep);
    this.#sweep = null;
    this.#options.onEmpty();
  }
}

const isRefusal = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && (error.code === 'NOT_ALLOWED' || error.code === 'BROKER_REJECTED');

function refusalOf(filter: string, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'NOT_ALLOWED') return error;
  return new ServiceError(
    'NOT_ALLOWED',
    `The broker does not allow this service to subscribe to "${filter}": the user of this service needs permission to subscribe to this filter and to receive messages on it (subscribePattern and publishClientReceive in dynamic security)`,
    { info: { filter, missing: ['subscribePattern', 'publishClientReceive'] }, cause: error },
  );
}

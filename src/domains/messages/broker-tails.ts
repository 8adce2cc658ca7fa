import { ServiceError } from '../../platform/errors.ts';
import type { BrokerSession, Stop } from '../../protocol/mqtt/broker-session.ts';
import type { LeasedLink, LinkLease } from '../../protocol/mqtt/leased-link.ts';
import { whenConnected } from '../../protocol/mqtt/when-connected.ts';
import { MessageTail, type TailLimits } from './message-tail.ts';

interface OpenTail {
  readonly filter: string;
  readonly tail: MessageTail;
  /** Settles with the broker's first answer. */
  ready: Promise<void>;
  isReady: boolean;
  isOver: boolean;
  /** Null: not subscribed at present. */
  stop: Stop | null;
  /** Epoch milliseconds since when nobody reads it; null: somebody does. */
  idleSince: number | null;
}

export interface BrokerTailsOptions {
  readonly observer: LeasedLink;
  /** Longest wait for the observing connection. */
  readonly timeoutMs: number;
  /** A tail that nobody reads goes on so long, so that who comes back finds what was told meanwhile. */
  readonly graceMs: number;
  /** Called when the last tail has ended. */
  readonly onEmpty: () => void;
}

/** Of one broker at once. */
export const MAX_FILTERS = 20;
export const MAX_TAILS = 100;

/**
 * The tails of one broker: one for each filter and limits whatever the number of subscribers, one MQTT subscription (QoS 0, so
 * that the broker queues nothing) for each filter, all on the broker's observing connection, which is let go with the last tail.
 *
 * Outlives connections: `detach` when the broker's link goes for good or gets other settings, `attach` with the next one.
 * Tails are told what happened and go on; one whose filter the broker refuses from then on ends with the error.
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

  /** The tail of a filter that was checked. Errors: RATE_LIMITED, NOT_ALLOWED (of the broker), and those of a link. */
  async open(filter: string, limits: TailLimits): Promise<MessageTail> {
    const key = `${limits.maxRate} ${limits.maxPayloadBytes} ${filter}`;
    const known = this.#tails.get(key) ?? this.#create(key, filter, limits);
    known.idleSince = null;
    await known.ready;
    return known.tail;
  }

  attach(observer: LeasedLink): void {
    this.#observer = observer;
    if (this.#tails.size > 0) this.#hold();
  }

  detach(): void {
    this.#observer = null;
    this.#letGo();
    for (const open of this.#tails.values()) {
      open.stop = null;
      open.tail.connectionChanged(false);
    }
  }

  /** Ends all tails, with the error if there is one. */
  close(error?: ServiceError): void {
    for (const [key, open] of this.#tails) this.#end(key, open, error);
  }

  #create(key: string, filter: string, limits: TailLimits): OpenTail {
    if (this.#limitOn(filter) !== null) this.#endIdle(0);
    const limit = this.#limitOn(filter);
    if (limit !== null) throw new ServiceError('RATE_LIMITED', `At most ${limit} of one broker are followed at once`);
    const open: OpenTail = {
      filter,
      tail: new MessageTail(limits),
      ready: Promise.resolve(),
      isReady: false,
      isOver: false,
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

  /** Null: there is room for one more tail. */
  #limitOn(filter: string): string | null {
    if (this.#tails.size >= MAX_TAILS) return `${MAX_TAILS} filters with limits`;
    const filters = new Set([...this.#tails.values()].map((open) => open.filter));
    return filters.size >= MAX_FILTERS && !filters.has(filter) ? `${MAX_FILTERS} topic filters` : null;
  }

  async #begin(key: string, open: OpenTail): Promise<void> {
    const { session } = this.#hold();
    await whenConnected(session, this.#options.timeoutMs);
    await this.#subscribe(key, open, session);
    open.isReady = true;
  }

  async #subscribe(key: string, open: OpenTail, session: BrokerSession): Promise<void> {
    const { filter, tail } = open;
    const onRefused = (error: ServiceError) => this.#end(key, open, refusalOf(filter, error));
    try {
      const stop = await session.subscribe(filter, tail.receive, { onRefused });
      if (open.isOver || this.#lease?.session !== session) stop();
      else open.stop = stop;
    } catch (error) {
      throw refusalOf(filter, error);
    }
  }

  /** On a connection that knows nothing of the tail yet. What fails for want of an answer is tried with the next one. */
  async #resume(key: string, open: OpenTail, session: BrokerSession): Promise<void> {
    try {
      await this.#subscribe(key, open, session);
      if (open.stop !== null) open.tail.connectionChanged(true);
    } catch (error) {
      if (isRefusal(error)) this.#end(key, open, error);
    }
  }

  #hold(): LinkLease {
    if (this.#lease !== null) return this.#lease;
    if (this.#observer === null) throw new ServiceError('BROKER_UNREACHABLE', 'Not connected yet');
    const lease = this.#observer.acquire();
    this.#lease = lease;
    this.#stopStatus = lease.session.onStatus(({ state }) => {
      for (const [key, open] of this.#tails) {
        // The link itself subscribes again to what it has been subscribed to.
        if (state !== 'CONNECTED' || open.stop !== null) open.tail.connectionChanged(state === 'CONNECTED');
        else if (open.isReady) void this.#resume(key, open, lease.session);
      }
    });
    return lease;
  }

  #letGo(): void {
    this.#stopStatus();
    this.#lease?.release();
    this.#lease = null;
  }

  /** Those that nobody has read for so long; one that nobody was seen to leave yet is about to be read. */
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
    if (open.isOver) return;
    open.isOver = true;
    this.#tails.delete(key);
    open.stop?.();
    open.tail.close(error);
    if (this.#tails.size > 0) return;
    this.#letGo();
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
    `The broker does not let this service subscribe to "${filter}": the user that it connects with needs the right to subscribe to this filter and the right to receive what is published there (subscribePattern and publishClientReceive in dynamic security)`,
    { info: { filter, missing: ['subscribePattern', 'publishClientReceive'] }, cause: error },
  );
}

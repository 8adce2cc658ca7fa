import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../platform/errors.ts';
import { Broadcast, type BroadcastEvent, type BroadcastOptions } from './broadcast.ts';
import type { LiveSource, SubscriberOptions } from './live-source.ts';

type Stop = () => void;

interface Connection {
  readonly status: { readonly state: string };
  onStatus(listener: (status: { readonly state: string }) => void): Stop;
}

/** A polled value for subscribers. Immutable. While the broker is not connected, the value is the last known one. */
export type Polled<Value> = Value & { readonly isConnected: boolean };
export type PolledEvent<Value> = BroadcastEvent<Polled<Value>, Polled<Value>>;

export interface PollSource<Value> {
  /** `current`: the last value of the feed. Errors: NOT_FOUND ends the feed; others leave the last value. */
  read(current?: Polled<Value>): Promise<Value>;
  /** Notifies of new values, if the provider sends events. */
  onEvent?(listener: (value: Value) => void): Stop;
  /** Default: whether an event was received. */
  sendsEvents?(): boolean;
}

export interface PolledContent<Value> extends BroadcastOptions<Polled<Value>, Polled<Value>> {
  readonly initial: Value;
  /** The changes to send. Default: the whole value if it differs. */
  changes?(before: Polled<Value>, now: Polled<Value>): readonly Polled<Value>[];
}

interface PolledFeedOptions<Value> extends PolledContent<Value> {
  /** Called when the feed has to be closed: the first poll failed, the object was deleted, or it has no subscribers. */
  readonly onEnd: () => void;
  readonly onFault: (error: unknown) => void;
}

const TICK_MS = 1_000;
/** A value with events is polled once in this number of ticks, because events can be lost. */
const TICKS_WITH_EVENTS = 5;
/** The feed remains for this number of ticks without subscribers, for those that reconnect. */
const IDLE_TICKS = 10;
/** The poll interval is at least this multiple of the response time, up to a limit. */
const MIN_INTERVAL_FACTOR = 10;
/** A response that had to wait, such as for another process to take over, delays the next poll by no more. */
const MAX_INTERVAL_MS = 10_000;

/**
 * One value of a broker for all subscribers: polled while there is a subscriber, and updated by events. `attach`
 * continues with another source, `detach` retains the last value.
 */
export class PolledFeed<Value extends object> {
  readonly #options: PolledFeedOptions<Value>;
  readonly #broadcast: Broadcast<Polled<Value>, Polled<Value>>;
  readonly #ticker: NodeJS.Timeout;
  #state: Polled<Value>;
  #source: PollSource<Value> | null = null;
  #stops: (Stop | undefined)[] = [];
  #numEvents = 0;
  #wasRead = false;
  #polling: Promise<void> | null = null;
  #idleTicks = 0;
  /** Time of the next poll, as `performance.now()`. */
  #nextAt = 0;

  constructor(options: PolledFeedOptions<Value>) {
    this.#options = options;
    this.#state = { ...options.initial, isConnected: false };
    this.#broadcast = new Broadcast<Polled<Value>, Polled<Value>>(() => this.#state, options);
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  attach(source: PollSource<Value>, connection: Connection): void {
    this.detach();
    this.#source = source;
    const received = (value: Value) => {
      this.#numEvents += 1;
      this.#change(value);
    };
    this.#stops = [
      source.onEvent?.(received),
      connection.onStatus(({ state }) => this.#connectionIs(state === 'CONNECTED')),
    ];
    this.#connectionIs(connection.status.state === 'CONNECTED');
  }

  detach(): void {
    for (const stop of this.#stops.splice(0)) stop?.();
    this.#source = null;
    this.#connectionIs(false);
  }

  /**
   * Polls first; if the broker cannot be queried, the subscriber starts with the last known value. Errors: those of the
   * first poll, NOT_FOUND.
   */
  async watch(options: SubscriberOptions): Promise<LiveSource<PolledEvent<Value>>> {
    this.#idleTicks = 0;
    await this.#poll().catch((error: unknown) => {
      if (!this.#wasRead || !(error instanceof ServiceError) || error.code === 'NOT_FOUND') throw error;
    });
    return this.#broadcast.subscribe(options);
  }

  close(): void {
    clearInterval(this.#ticker);
    this.detach();
    this.#broadcast.close();
  }

  #connectionIs(isConnected: boolean): void {
    this.#change({ ...this.#state, isConnected });
    this.#nextAt = 0;
    if (isConnected && this.#broadcast.subscriberCount > 0) this.#pollInBackground();
  }

  #tick(): void {
    this.#idleTicks = this.#broadcast.subscriberCount > 0 ? 0 : this.#idleTicks + 1;
    if (this.#idleTicks > IDLE_TICKS) this.#options.onEnd();
    else if (this.#idleTicks === 0 && this.#nextAt <= performance.now()) this.#pollInBackground();
  }

  #pollInBackground(): void {
    this.#poll().catch((error: unknown) => {
      if (!(error instanceof ServiceError)) this.#options.onFault(error);
    });
  }

  #poll(): Promise<void> {
    this.#polling ??= this.#pollNow().finally(() => {
      this.#polling = null;
    });
    return this.#polling;
  }

  async #pollNow(): Promise<void> {
    const source = this.#source;
    const begun = performance.now();
    const before = this.#numEvents;
    try {
      if (source === null) throw new ServiceError('BROKER_UNREACHABLE', 'The broker is not connected');
      const value = await source.read(this.#state);
      this.#wasRead = true;
      // An event during the poll is newer than its result.
      if (this.#numEvents === before) this.#change(value);
    } catch (error) {
      if (!this.#wasRead || (error instanceof ServiceError && error.code === 'NOT_FOUND')) this.#options.onEnd();
      throw error;
    } finally {
      const hasEvents = source?.sendsEvents?.() ?? this.#numEvents > 0;
      const usual = hasEvents ? TICKS_WITH_EVENTS * TICK_MS : TICK_MS;
      const rested = Math.min((performance.now() - begun) * MIN_INTERVAL_FACTOR, MAX_INTERVAL_MS);
      // Half a tick less, because a timer may fire early.
      this.#nextAt = begun + Math.max(usual - TICK_MS / 2, rested);
    }
  }

  #change(change: Partial<Polled<Value>>): void {
    const before = this.#state;
    const now = { ...before, ...change };
    this.#state = now;
    const changes = this.#options.changes?.(before, now) ?? (isDeepStrictEqual(before, now) ? [] : [now]);
    for (const each of changes) this.#broadcast.publish(each);
  }
}

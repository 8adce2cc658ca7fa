import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';

/** The state of a bridge for its subscribers. Immutable: each change creates another one. */
interface BridgeState {
  /** Whether the gateway is connected to the broker; while not, `status` is the last known one. */
  readonly isConnected: boolean;
  readonly status: unknown;
}

export type BridgeEvent = BroadcastEvent<BridgeState, BridgeState>;

export interface StatusSource {
  /** Errors: those of a broker that is not connected. */
  read(): Promise<unknown>;
  /** Notifies of status events, if the provider sends them. */
  onStatus(listener: (status: unknown) => void): Stop;
}

/** Poll interval for a bridge without status events. */
const TICK_MS = 1_000;
/** A bridge with status events is polled once in this number of ticks, because events can be lost. */
const TICKS_WITH_EVENTS = 5;
/** Polling continues for this number of ticks without subscribers, for those that reconnect. */
const IDLE_TICKS = 10;
/** The poll interval is at least this multiple of the response time. */
const MIN_INTERVAL_FACTOR = 10;
/** Changes stored for slow and reconnecting subscribers, and the maximum characters of their JSON. */
const MAX_STORED = 300;
const MAX_STORED_CHARACTERS = 4_000_000;

/**
 * The status of one bridge for all subscribers: polled while there is a subscriber, and updated by status events of the
 * provider. Outlives the connections and settings of the broker: `attach` continues with another source, `detach`
 * retains the last status.
 */
export class BridgeFeed {
  readonly #onFault: (error: unknown) => void;
  readonly #onIdle: () => void;
  readonly #broadcast: Broadcast<BridgeState, BridgeState>;
  readonly #ticker: NodeJS.Timeout;
  #source: StatusSource | null = null;
  #stopSource: Stop | null = null;
  #state: BridgeState = { isConnected: false, status: null };
  #text = 'null';
  #numEvents = 0;
  #asking: Promise<void> | null = null;
  #idleTicks = 0;
  #nextAt = 0;

  /** `onIdle`: there was no subscriber for a while, and the feed may be closed. */
  constructor({ onIdle, onFault }: { readonly onIdle: () => void; readonly onFault: (error: unknown) => void }) {
    this.#onIdle = onIdle;
    this.#onFault = onFault;
    this.#broadcast = new Broadcast(() => this.#state, {
      history: MAX_STORED,
      maxWeight: MAX_STORED_CHARACTERS,
      weigh: () => this.#text.length,
    });
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  attach(source: StatusSource): void {
    this.detach();
    this.#source = source;
    this.#stopSource = source.onStatus((status) => {
      this.#numEvents += 1;
      this.#change({ ...this.#state, status });
    });
  }

  detach(): void {
    this.#stopSource?.();
    this.#stopSource = null;
    this.#source = null;
    this.connectionIs(false);
  }

  /** Polls immediately after a reconnect. */
  connectionIs(isConnected: boolean): void {
    this.#change({ ...this.#state, isConnected });
    this.#nextAt = 0;
    if (isConnected && this.#broadcast.subscriberCount > 0) this.#pollInBackground();
  }

  async watch(options: SubscriberOptions): Promise<LiveSource<BridgeEvent>> {
    this.#idleTicks = 0;
    await this.#poll();
    return this.#broadcast.subscribe(options);
  }

  close(): void {
    clearInterval(this.#ticker);
    this.detach();
    this.#broadcast.close();
  }

  #tick(): void {
    this.#idleTicks = this.#broadcast.subscriberCount > 0 ? 0 : this.#idleTicks + 1;
    if (this.#idleTicks > IDLE_TICKS) this.#onIdle();
    else if (this.#idleTicks === 0 && this.#nextAt <= performance.now()) this.#pollInBackground();
  }

  #pollInBackground(): void {
    this.#poll().catch((error: unknown) => {
      // While the broker is not connected, the last status remains.
      if (!(error instanceof ServiceError)) this.#onFault(error);
    });
  }

  #poll(): Promise<void> {
    this.#asking ??= this.#pollNow().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #pollNow(): Promise<void> {
    if (this.#source === null) throw new ServiceError('BROKER_UNREACHABLE', 'The broker is not connected');
    const begun = performance.now();
    const before = this.#numEvents;
    try {
      const status = await this.#source.read();
      // A status event during the poll is newer than its result.
      if (this.#numEvents === before) this.#change({ ...this.#state, status });
    } finally {
      const taken = performance.now() - begun;
      const usual = this.#numEvents > 0 ? TICKS_WITH_EVENTS * TICK_MS : TICK_MS;
      // Half a tick less, because a timer may fire early.
      this.#nextAt = begun + Math.max(usual - TICK_MS / 2, taken * MIN_INTERVAL_FACTOR);
    }
  }

  #change(state: BridgeState): void {
    const text = JSON.stringify(state.status);
    if (text === this.#text && state.isConnected === this.#state.isConnected) return;
    this.#state = state;
    this.#text = text;
    this.#broadcast.publish(state);
  }
}

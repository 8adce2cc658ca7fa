import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';

/** A bridge as those who follow it see it. Never changed; another one takes its place. */
export interface BridgeState {
  /** This service to the broker; while not, what was told last stays. */
  readonly isConnected: boolean;
  /** As `getStatus` answers, any JSON. */
  readonly status: unknown;
}

export type BridgeEvent = BroadcastEvent<BridgeState, BridgeState>;

/** Where the status of one bridge comes from. */
export interface StatusSource {
  /** Errors: of a broker that cannot be asked. */
  read(): Promise<unknown>;
  /** Told unasked, by providers that do. */
  onStatus(listener: (status: unknown) => void): Stop;
}

/** A bridge that does not tell by itself is asked so often. */
const TICK_MS = 1_000;
/** One that does is asked only to be sure: an event may be lost. */
const SURE_TICKS = 5;
/** What nobody watches is followed on for so long, for those who come back. */
const IDLE_TICKS = 10;
/** One that takes long to answer is asked in this many times as long. */
const REST = 10;
/** Changes kept for those who read slowly or come back, and characters of JSON that they have together. */
const MAX_KEPT = 300;
const MAX_KEPT_CHARACTERS = 4_000_000;

/**
 * The status of one bridge, for everybody who follows it. Asked for while somebody watches, and told at once where the provider tells.
 * Outlives the broker's connections and their settings: `attach` goes on with another source, `detach` leaves what was told.
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
  /** Statuses told unasked so far. */
  #told = 0;
  #asking: Promise<void> | null = null;
  #idleTicks = 0;
  /** `performance.now()`. */
  #nextAt = 0;

  /** `onIdle`: nobody has watched for a while; it may be closed. `onFault`: a bug that concerns no caller. */
  constructor({ onIdle, onFault }: { readonly onIdle: () => void; readonly onFault: (error: unknown) => void }) {
    this.#onIdle = onIdle;
    this.#onFault = onFault;
    this.#broadcast = new Broadcast(() => this.#state, {
      history: MAX_KEPT,
      maxWeight: MAX_KEPT_CHARACTERS,
      weigh: () => this.#text.length,
    });
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  attach(source: StatusSource): void {
    this.detach();
    this.#source = source;
    this.#stopSource = source.onStatus((status) => {
      this.#told += 1;
      this.#change({ ...this.#state, status });
    });
  }

  detach(): void {
    this.#stopSource?.();
    this.#stopSource = null;
    this.#source = null;
    this.connectionIs(false);
  }

  /** What happened while it was away is asked for at once. */
  connectionIs(isConnected: boolean): void {
    this.#change({ ...this.#state, isConnected });
    this.#nextAt = 0;
    if (isConnected && this.#broadcast.subscriberCount > 0) this.#lookInBackground();
  }

  /** The status now, then each change of it. Errors: of a broker that cannot be asked. */
  async watch(options: SubscriberOptions): Promise<LiveSource<BridgeEvent>> {
    this.#idleTicks = 0;
    await this.#look();
    return this.#broadcast.subscribe(options);
  }

  /** Ends the streams of all who watch. */
  close(): void {
    clearInterval(this.#ticker);
    this.detach();
    this.#broadcast.close();
  }

  #tick(): void {
    this.#idleTicks = this.#broadcast.subscriberCount > 0 ? 0 : this.#idleTicks + 1;
    if (this.#idleTicks > IDLE_TICKS) this.#onIdle();
    else if (this.#idleTicks === 0 && this.#nextAt <= performance.now()) this.#lookInBackground();
  }

  #lookInBackground(): void {
    this.#look().catch((error: unknown) => {
      // Of a broker that cannot be asked, what was told last stays.
      if (!(error instanceof ServiceError)) this.#onFault(error);
    });
  }

  /** One look at a time, for all who wait for it. */
  #look(): Promise<void> {
    this.#asking ??= this.#lookNow().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #lookNow(): Promise<void> {
    if (this.#source === null) throw new ServiceError('BROKER_UNREACHABLE', 'The broker is not connected');
    const begun = performance.now();
    const before = this.#told;
    try {
      const status = await this.#source.read();
      // What was told meanwhile is newer than the answer.
      if (this.#told === before) this.#change({ ...this.#state, status });
    } finally {
      const taken = performance.now() - begun;
      const usual = this.#told > 0 ? SURE_TICKS * TICK_MS : TICK_MS;
      // A little less than a tick, which may be early.
      this.#nextAt = begun + Math.max(usual - TICK_MS / 2, taken * REST);
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

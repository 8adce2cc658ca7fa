import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { getStream, listStreams, onStreamChanged, STREAM_API } from '../control/stream-control.ts';
import { type ReplayEvent, ReplayFeed } from './replay-feed.ts';
import { type StreamListEvent, StreamListFeed } from './stream-list-feed.ts';

type Session = Pick<BrokerSession, 'status' | 'onStatus'>;

/** Polling interval of all feeds, in milliseconds. */
const TICK_MS = 1_000;
/** Ticks between polls of a stream that sends change events, because events may be lost. */
const SURE_TICKS = 5;
/** Ticks for which a feed without subscribers continues, for subscribers that reconnect. */
const IDLE_TICKS = 10;
/** A slow list is polled again after this multiple of its duration. */
const REST = 10;

interface Followed<Feed> {
  readonly feed: Feed;
  readonly begun: Promise<void>;
  idleTicks: number;
  /** The running poll. Resolves with `false` if the stream was deleted. */
  asking: Promise<boolean> | null;
  /** Time of the next poll, as `performance.now()`. */
  nextAt: number;
}

/**
 * Live feeds of the streams of one broker: the replays of single streams, and all streams with their counters. Nothing
 * is polled without subscribers.
 *
 * The feeds outlive connections and settings of the broker. `attach` continues with the current server of the streams;
 * `detach` retains the last reported state.
 */
export class BrokerStreamFeeds {
  readonly #onFault: (error: unknown) => void;
  readonly #replays = new Map<string, Followed<ReplayFeed>>();
  #all: Followed<StreamListFeed> | null = null;
  #controls: ControlCaller | null = null;
  #isConnected = false;
  #stopStatus: Stop | null = null;
  #stopEvents: Stop | null = null;
  #ticker: NodeJS.Timeout | undefined;

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  attach(controls: ControlCaller, session: Session): void {
    this.detach();
    this.#controls = controls;
    this.#stopStatus = session.onStatus(({ state }) => this.#connectionIs(state === 'CONNECTED'));
    this.#connectionIs(session.status.state === 'CONNECTED');
    if (this.#ticker !== undefined) this.#listen();
  }

  detach(): void {
    this.#stopStatus?.();
    this.#stopEvents?.();
    this.#stopStatus = null;
    this.#stopEvents = null;
    this.#controls = null;
    this.#connectionIs(false);
  }

  /** The current replay of a stream, then each change, until the stream is deleted. Errors: NOT_FOUND. */
  async watchReplay(name: string, options: SubscriberOptions): Promise<LiveSource<ReplayEvent>> {
    const known = this.#replays.get(name);
    const followed = known ?? this.#follow(new ReplayFeed(this.#isConnected), (feed) => this.#readReplay(name, feed));
    if (known === undefined) {
      this.#replays.set(name, followed);
      followed.begun.catch(() => this.#replays.delete(name));
    }
    await followed.begun;
    followed.idleTicks = 0;
    // A later subscriber starts with the current state instead of that of the last poll.
    if (known !== undefined) await this.#lookAtReplay(name, followed);
    return followed.feed.watch(options);
  }

  /** All streams, then those that changed, at most once per second. */
  async watchAll(options: SubscriberOptions): Promise<LiveSource<StreamListEvent>> {
    const known = this.#all;
    const followed = known ?? this.#follow(new StreamListFeed(this.#isConnected), (feed) => this.#readAll(feed));
    if (known === null) {
      this.#all = followed;
      followed.begun.catch(() => {
        this.#all = null;
      });
    }
    await followed.begun;
    followed.idleTicks = 0;
    if (known !== null) await this.#lookAt(followed, (feed) => this.#readAll(feed));
    return followed.feed.watch(options);
  }

  ended(name: string): void {
    this.#replays.get(name)?.feed.close();
    this.#replays.delete(name);
  }

  close(): void {
    this.detach();
    clearInterval(this.#ticker);
    for (const name of [...this.#replays.keys()]) this.ended(name);
    this.#all?.feed.close();
    this.#all = null;
  }

  #follow<Feed>(feed: Feed, read: (feed: Feed) => Promise<void>): Followed<Feed> {
    this.#listen();
    if (this.#ticker === undefined) {
      this.#ticker = setInterval(() => this.#tick(), TICK_MS);
      this.#ticker.unref();
    }
    return { feed, begun: read(feed), idleTicks: 0, asking: null, nextAt: performance.now() + TICK_MS };
  }

  #listen(): void {
    if (this.#controls === null || this.#stopEvents !== null) return;
    this.#stopEvents = onStreamChanged(this.#controls, ({ name, report }) => {
      this.#replays.get(name)?.feed.reported(report);
    });
  }

  #connectionIs(isConnected: boolean): void {
    this.#isConnected = isConnected;
    for (const followed of this.#followed()) {
      followed.feed.connectionIs(isConnected);
      // Polls immediately for changes during the disconnection.
      followed.nextAt = 0;
    }
    if (isConnected) this.#look();
  }

  *#followed(): Iterable<Followed<ReplayFeed> | Followed<StreamListFeed>> {
    yield* this.#replays.values();
    if (this.#all !== null) yield this.#all;
  }

  #tick(): void {
    for (const followed of this.#followed()) {
      followed.idleTicks = followed.feed.isWatched ? 0 : followed.idleTicks + 1;
    }
    for (const [name, { idleTicks }] of this.#replays) if (idleTicks > IDLE_TICKS) this.ended(name);
    if (this.#all !== null && this.#all.idleTicks > IDLE_TICKS) {
      this.#all.feed.close();
      this.#all = null;
    }
    if (this.#replays.size > 0 || this.#all !== null) {
      this.#look();
      return;
    }
    clearInterval(this.#ticker);
    this.#ticker = undefined;
    this.#stopEvents?.();
    this.#stopEvents = null;
  }

  #look(): void {
    const now = performance.now();
    for (const [name, followed] of this.#replays) {
      if (followed.nextAt <= now) void this.#lookAtReplay(name, followed);
    }
    const all = this.#all;
    if (all !== null && all.nextAt <= now) void this.#lookAt(all, (feed) => this.#readAll(feed));
  }

  async #lookAtReplay(name: string, followed: Followed<ReplayFeed>): Promise<void> {
    const exists = await this.#lookAt(followed, (feed) => this.#readReplay(name, feed));
    if (followed.feed.hasEvents) followed.nextAt = performance.now() + SURE_TICKS * TICK_MS;
    if (exists || this.#replays.get(name) !== followed) return;
    this.ended(name);
  }

  /** Polls once for all concurrent callers. Resolves with `false` if the stream was deleted. */
  #lookAt<Feed>(followed: Followed<Feed>, read: (feed: Feed) => Promise<void>): Promise<boolean> {
    followed.asking ??= this.#lookNow(followed, read).finally(() => {
      followed.asking = null;
    });
    return followed.asking;
  }

  async #lookNow<Feed>(followed: Followed<Feed>, read: (feed: Feed) => Promise<void>): Promise<boolean> {
    const begun = performance.now();
    try {
      await read(followed.feed);
      return true;
    } catch (error) {
      // The last reported state remains if the broker cannot be queried.
      if (error instanceof ServiceError) return error.code !== 'NOT_FOUND';
      this.#onFault(error);
      return true;
    } finally {
      // Half a tick, because the next tick may be early.
      followed.nextAt = begun + Math.max(TICK_MS / 2, (performance.now() - begun) * REST);
    }
  }

  #readReplay(name: string, feed: ReplayFeed): Promise<void> {
    return feed.read(() => getStream(this.#asked(), name));
  }

  async #readAll(feed: StreamListFeed): Promise<void> {
    const controls = this.#asked();
    const { provider } = await controls.capability(STREAM_API);
    const { items } = await listStreams(controls);
    feed.listed(items, provider);
  }

  #asked(): ControlCaller {
    if (this.#controls !== null) return this.#controls;
    throw new ServiceError('BROKER_UNREACHABLE', 'The broker is not connected');
  }
}

import { isDeepStrictEqual } from 'node:util';
import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes/changes.ts';
import { Rereading } from '../../platform/storage/changes/rereading.ts';
import type { StorageLog } from '../../platform/storage/storage-log.ts';
import { JOB_CHANGED } from './job-store.ts';

interface StoredFeedsOptions<Value> {
  readonly changes: Changes;
  readonly log: StorageLog;
  /** The key of the value that a changed job belongs to. */
  keyOf(brokerId: string, jobId: string): string;
  /** Errors: those of the database. */
  read(key: string): Promise<Value>;
}

interface StoredFeed<Value> {
  readonly broadcast: Broadcast<Value, Value>;
  value: Value;
}

export type StoredEvent<Value> = BroadcastEvent<Value, Value>;

/** Stored changes of one value, for slow and resuming subscribers. */
const HISTORY = 100;
/** A process that dies after a write announces nothing. */
const READ_MS = 10_000;

/**
 * Live values that are read from the jobs in the database, so that each process serves the same. A value is read when a
 * process announces that it changed, and every READ_MS while it has subscribers.
 */
export class StoredFeeds<Value> {
  readonly #options: StoredFeedsOptions<Value>;
  readonly #feeds = new Map<string, StoredFeed<Value>>();
  readonly #rereading: Rereading;
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(options: StoredFeedsOptions<Value>) {
    this.#options = options;
    this.#rereading = new Rereading(options.log, (key) => this.#readAgain(key));
    this.#stop = options.changes.on(JOB_CHANGED, (announced) => {
      const [brokerId = '', jobId] = announced.split(' ');
      const key = jobId === undefined ? ANYTHING : options.keyOf(brokerId, jobId);
      if (key === ANYTHING || this.#feeds.has(key)) this.#rereading.listener(key);
    });
    this.#timer = setInterval(() => this.#rereading.listener(ANYTHING), READ_MS).unref();
  }

  /** Errors: those of the database. */
  async watch(key: string, options: SubscriberOptions): Promise<LiveSource<StoredEvent<Value>>> {
    const known = this.#feeds.get(key);
    if (known !== undefined) return known.broadcast.subscribe(options);
    const value = await this.#options.read(key);
    const feed = this.#feeds.get(key) ?? this.#open(key, value);
    return feed.broadcast.subscribe(options);
  }

  /** Ends the subscriptions to a value. */
  end(key: string, error: unknown): void {
    this.#feeds.get(key)?.broadcast.close(error);
    this.#feeds.delete(key);
  }

  async close(): Promise<void> {
    this.#stop();
    clearInterval(this.#timer);
    for (const { broadcast } of this.#feeds.values()) broadcast.close();
    this.#feeds.clear();
    await this.#rereading.close();
  }

  #open(key: string, value: Value): StoredFeed<Value> {
    this.#evictUnused();
    const broadcast = new Broadcast<Value, Value>(() => feed.value, { history: HISTORY });
    const feed: StoredFeed<Value> = { value, broadcast };
    this.#feeds.set(key, feed);
    // It may have changed since it was read.
    this.#rereading.listener(key);
    return feed;
  }

  #evictUnused(): void {
    for (const [key, { broadcast }] of this.#feeds) if (broadcast.subscriberCount === 0) this.#feeds.delete(key);
  }

  async #readAgain(key: string): Promise<void> {
    if (key === ANYTHING) this.#evictUnused();
    for (const known of key === ANYTHING ? [...this.#feeds.keys()] : [key]) {
      const feed = this.#feeds.get(known);
      if (feed === undefined) continue;
      const value = await this.#options.read(known);
      if (isDeepStrictEqual(value, feed.value)) continue;
      feed.value = value;
      feed.broadcast.publish(value);
    }
  }
}

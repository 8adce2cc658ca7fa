import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import type { ControlProvider } from '../../../protocol/control/plugin.ts';
import type { StreamEntry } from '../control/stream-wire.ts';

/** All streams of a broker, or the changed streams and the names of the removed ones. */
interface StreamListChange {
  readonly isConnected: boolean;
  readonly provider: ControlProvider;
  readonly streams: readonly StreamEntry[];
  readonly removed: readonly string[];
}

export type StreamListEvent = BroadcastEvent<StreamListChange, StreamListChange>;

interface Known {
  readonly entry: StreamEntry;
  readonly text: string;
}

/** Maximum number of streams per event. Larger snapshots are sent in parts. */
const MAX_PER_EVENT = 500;
/** Maximum number of streams in all retained changes: a stream with its report has a few kilobytes. */
const MAX_KEPT_STREAMS = 5_000;
/** Changes retained for slow or reconnecting subscribers: a minute with one change per second. */
const MAX_KEPT = 60;

/** All streams of one broker with their counters, for all subscribers. Only a new list changes them. */
export class StreamListFeed {
  readonly #broadcast: Broadcast<StreamListChange, StreamListChange>;
  #known: ReadonlyMap<string, Known> = new Map();
  #isConnected: boolean;
  #provider: ControlProvider = 'NONE';

  constructor(isConnected: boolean) {
    this.#isConnected = isConnected;
    this.#broadcast = new Broadcast<StreamListChange, StreamListChange>(
      () => this.#change({ streams: Array.from(this.#known.values(), ({ entry }) => entry) }),
      {
        history: MAX_KEPT,
        maxWeight: MAX_KEPT_STREAMS,
        weigh: ({ streams }) => streams.length + 1,
        split: (snapshot) => {
          const [first = snapshot, ...rest] = partsOf(snapshot);
          return { first, rest };
        },
      },
    );
  }

  get isWatched(): boolean {
    return this.#broadcast.subscriberCount > 0;
  }

  watch(options: SubscriberOptions): LiveSource<StreamListEvent> {
    return this.#broadcast.subscribe(options);
  }

  connectionIs(isConnected: boolean): void {
    if (isConnected === this.#isConnected) return;
    this.#isConnected = isConnected;
    this.#broadcast.publish(this.#change({}));
  }

  listed(entries: readonly StreamEntry[], provider: ControlProvider): void {
    this.#provider = provider;
    const before = this.#known;
    const now = new Map(entries.map((entry) => [entry.definition.name, { entry, text: JSON.stringify(entry) }]));
    this.#known = now;
    const removed = [...before.keys()].filter((name) => !now.has(name));
    const streams = [...now]
      .filter(([name, { text }]) => before.get(name)?.text !== text)
      .map(([, { entry }]) => entry);
    if (removed.length + streams.length === 0) return;
    for (const part of partsOf(this.#change({ streams, removed }))) this.#broadcast.publish(part);
  }

  close(): void {
    this.#broadcast.close();
  }

  #change(change: Partial<StreamListChange>): StreamListChange {
    return { isConnected: this.#isConnected, provider: this.#provider, streams: [], removed: [], ...change };
  }
}

function partsOf({ streams, ...change }: StreamListChange): StreamListChange[] {
  const parts: StreamListChange[] = [{ ...change, streams: streams.slice(0, MAX_PER_EVENT) }];
  for (let start = MAX_PER_EVENT; start < streams.length; start += MAX_PER_EVENT) {
    parts.push({ ...change, removed: [], streams: streams.slice(start, start + MAX_PER_EVENT) });
  }
  return parts;
}

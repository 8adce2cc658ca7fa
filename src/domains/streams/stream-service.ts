import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../gateway/paging.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import {
  clearStreamMessages,
  deleteStream,
  disableStream,
  enableStream,
  getStream,
  getStreamMessageCount,
  listStreamPlaces,
  listStreams,
  STREAM_API,
  stopStreamReplay,
} from './control/stream-control.ts';
import { BrokerStreamFeeds } from './live/broker-stream-feeds.ts';
import type { ReplayEvent } from './live/replay-feed.ts';
import type { StreamListEvent } from './live/stream-list-feed.ts';
import { createLoopFree, modifyLoopFree, replayLoopFree } from './loop-free-writes.ts';
import {
  type ClearInput,
  checkedBounds,
  checkedChanges,
  checkedReplay,
  checkedStream,
  type NewStreamInput,
  placed,
  type ReplayInput,
  type StreamChangesInput,
} from './stream-input.ts';
import { StreamSums, type StreamTotals } from './stream-totals.ts';
import { type StreamView, streamView } from './stream-view.ts';

export interface StreamServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly directory: Pick<BrokerCache, 'onRemove'>;
  /** A bug that concerns no caller. */
  readonly onFault: (error: unknown) => void;
}

export interface StreamPage extends ListConnection<StreamView> {
  /** Which nodes of a cluster could not be asked, and why; null: none. */
  readonly problem: string | null;
}

/** Something that was done to a stream. */
export interface StreamWrite {
  readonly broker: BrokerRecord;
  readonly name: string;
  /** The stream as it is after that; null: there is none. Errors: of a broker that cannot be asked. */
  readonly readStream: () => Promise<StreamView | null>;
}

/**
 * The streams of brokers, whoever runs them. Input is checked before anything is sent, and loops between streams are refused also
 * where the broker itself would not.
 *
 * Errors of all that asks a broker: NOT_SUPPORTED_BY_BROKER where nobody runs streams, NOT_FOUND, and those of a broker that cannot be
 * asked. Streams that this service runs beside a broker are told, and taken, while the broker is away, too.
 */
export class StreamService {
  readonly #runtimes: BrokerRuntimes;
  readonly #onFault: (error: unknown) => void;
  readonly #feeds = new Map<string, BrokerStreamFeeds>();
  readonly #sums = new Map<string, StreamSums>();
  readonly #stop: () => void;

  constructor({ runtimes, directory, onFault }: StreamServiceOptions) {
    this.#runtimes = runtimes;
    this.#onFault = onFault;
    // Other settings of a broker make another runtime: whoever watches goes on with that.
    runtimes.onRuntime(({ id, controls, link }, change) => {
      if (change === 'OPENED') this.#feeds.get(id)?.attach(controls, link);
      else this.#feeds.get(id)?.detach();
    });
    this.#stop = directory.onRemove(({ id }) => {
      this.#feeds.get(id)?.close();
      this.#feeds.delete(id);
      this.#sums.delete(id);
    });
  }

  /** Asks whoever runs the streams of a broker, also while it is away where this service does. Errors tell places of the model. */
  askAt<T>(broker: BrokerRecord, question: (controls: ControlCaller) => Promise<T>): Promise<T> {
    return this.#ask(broker, ({ controls }) => question(controls));
  }

  /** One question to the broker. A cursor is a place in its list. Errors: INVALID. */
  async page(broker: BrokerRecord, args: PageArguments): Promise<StreamPage> {
    const { first, last } = checkedPage(args);
    if (last !== null || args.before != null) {
      throw new ServiceError('INVALID', 'Streams are paged forwards: use first and after');
    }
    const offset = placeAfter(args.after) + (args.offset ?? 0);
    const count = first ?? DEFAULT_PAGE;
    const {
      items,
      totalCount,
      problem = null,
      provider,
    } = await this.#ask(broker, async ({ controls }) => {
      const { provider } = await controls.capability(STREAM_API);
      // An empty page is asked for how many there are.
      const { items, ...rest } = await listStreamPlaces(controls, { offset, count: Math.max(1, count) });
      return { items: items.slice(0, count), ...rest, provider };
    });
    const edges = items.flatMap((entry, index) =>
      entry === null ? [] : [{ cursor: String(offset + index + 1), node: streamView(broker, provider, entry) }],
    );
    const end = offset + items.length;
    return {
      edges,
      pageInfo: {
        // A broker that lists less than it counts has no more to tell.
        hasNextPage: end < totalCount && (items.length > 0 || count === 0),
        hasPreviousPage: offset > 0,
        startCursor: edges[0]?.cursor ?? null,
        // Beyond those that cannot be read: the next page begins there.
        endCursor: items.length > 0 ? String(end) : null,
      },
      totalCount,
      problem,
    };
  }

  /** Null when there is none of this name. */
  async find(broker: BrokerRecord, name: string): Promise<StreamView | null> {
    try {
      return await this.#ask(broker, async ({ controls }) => {
        const { provider } = await controls.capability(STREAM_API);
        return streamView(broker, provider, await getStream(controls, name));
      });
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  }

  /** Stored messages; an estimate where the broker runs the stream itself and does not count them. Null: it stores none. */
  async messageCount({ broker, report, definition: { name } }: StreamView): Promise<number | null> {
    if (report !== null) return report.storage.messages;
    try {
      return await this.#ask(broker, ({ controls }) => getStreamMessageCount(controls, name));
    } catch (error) {
      // "Persistence not configured for this stream", or it has gone.
      if (error instanceof ServiceError && (error.code === 'BROKER_REJECTED' || error.code === 'NOT_FOUND'))
        return null;
      throw error;
    }
  }

  /** Errors: INVALID, ALREADY_EXISTS. */
  async create(broker: BrokerRecord, input: NewStreamInput): Promise<StreamWrite> {
    const definition = checkedStream(input);
    return this.#write(broker, definition.name, (controls) => createLoopFree(broker, controls, definition));
  }

  /** Only what is given changes. Errors: INVALID. */
  async update(broker: BrokerRecord, name: string, input: StreamChangesInput): Promise<StreamWrite> {
    const changes = checkedChanges(input);
    return this.#write(broker, name, (controls) => modifyLoopFree(broker, controls, name, changes));
  }

  /** With its stored messages, and a replay that runs. */
  async remove(broker: BrokerRecord, name: string): Promise<StreamWrite> {
    const written = await this.#write(broker, name, (controls) => deleteStream(controls, name));
    this.#feeds.get(broker.id)?.ended(name);
    return written;
  }

  async setActive(broker: BrokerRecord, name: string, isActive: boolean): Promise<StreamWrite> {
    const set = isActive ? enableStream : disableStream;
    return this.#write(broker, name, (controls) => set(controls, name));
  }

  /** Removes stored messages for good. Errors: INVALID, BROKER_REJECTED where the stream stores none. */
  async clear(broker: BrokerRecord, name: string, input: ClearInput): Promise<StreamWrite> {
    const bounds = checkedBounds(input);
    return this.#write(broker, name, (controls) => clearStreamMessages(controls, name, bounds));
  }

  /** Answers when it has begun. Errors: INVALID, IN_USE (another one runs), BROKER_REJECTED where the stream stores no messages. */
  async replay(broker: BrokerRecord, name: string, input: ReplayInput): Promise<StreamWrite> {
    const request = checkedReplay(input);
    return this.#write(broker, name, (controls) => replayLoopFree(broker, controls, name, request));
  }

  /** Does nothing where none runs. */
  async stopReplay(broker: BrokerRecord, name: string): Promise<StreamWrite> {
    return this.#write(broker, name, (controls) => stopStreamReplay(controls, name));
  }

  /** The replay of a stream now, then each change of it, until the stream is deleted. */
  watchReplay(broker: BrokerRecord, name: string, options: SubscriberOptions): Promise<LiveSource<ReplayEvent>> {
    return this.#ask(broker, (runtime) => this.#feedsOf(runtime).watchReplay(name, options));
  }

  /** All streams of a broker now, then those that became different, at most once a second. */
  watch(broker: BrokerRecord, options: SubscriberOptions): Promise<LiveSource<StreamListEvent>> {
    return this.#ask(broker, (runtime) => this.#feedsOf(runtime).watchAll(options));
  }

  /** Of each of these brokers; of one that cannot be asked what was known last. Brokers without streams are left out. */
  async totals(brokers: Iterable<BrokerRecord>): Promise<ReadonlyMap<string, StreamTotals>> {
    const totals = new Map<string, StreamTotals>();
    const read = async (broker: BrokerRecord): Promise<void> => {
      const { items } = await this.#ask(broker, ({ controls }) => listStreams(controls));
      const sums = this.#sums.get(broker.id) ?? new StreamSums();
      if (items.length > 0) this.#sums.set(broker.id, sums);
      sums.take(items);
    };
    await Promise.allSettled(Array.from(brokers, read));
    for (const { id } of brokers) {
      const sums = this.#sums.get(id);
      if (sums !== undefined) totals.set(id, sums.totals);
    }
    return totals;
  }

  close(): void {
    this.#stop();
    for (const feeds of this.#feeds.values()) feeds.close();
    this.#feeds.clear();
  }

  async #write(
    broker: BrokerRecord,
    name: string,
    change: (controls: ControlCaller) => Promise<void>,
  ): Promise<StreamWrite> {
    await placed(this.#ask(broker, ({ controls }) => change(controls)));
    return { broker, name, readStream: () => this.find(broker, name) };
  }

  /** What this service itself runs beside a broker can be asked while the broker is away. */
  async #ask<T>(broker: BrokerRecord, question: (runtime: BrokerRuntime) => Promise<T>): Promise<T> {
    if (this.#runtimes.status(broker.id).state !== 'UNREACHABLE') return this.#runtimes.ask(broker, question);
    return question(this.#runtimes.get(broker));
  }

  #feedsOf({ id, controls, link }: BrokerRuntime): BrokerStreamFeeds {
    let feeds = this.#feeds.get(id);
    if (feeds === undefined) {
      feeds = new BrokerStreamFeeds(this.#onFault);
      feeds.attach(controls, link);
      this.#feeds.set(id, feeds);
    }
    return feeds;
  }
}

function placeAfter(cursor: string | null | undefined): number {
  if (cursor == null) return 0;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ServiceError('INVALID', 'after: is no cursor of this list');
}

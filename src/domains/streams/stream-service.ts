import {
  clearStreamMessages,
  commandStream,
  getStream,
  getStreamMessageCount,
  listStreams,
  STREAM_API,
} from '../../data-plane/streams/control/stream-control.ts';
import type { StreamEntry } from '../../data-plane/streams/control/stream-wire.ts';
import type { StreamQuery } from '../../data-plane/streams/model/stream-query.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { nullOn, ServiceError } from '../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../platform/paging.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import { unreachable } from '../../protocol/mqtt/when-connected.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import { BrokerFeeds, type BrokerFeedsOptions } from '../brokers/broker-feeds.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { TotalsOfBrokers } from '../brokers/broker-totals.ts';
import { createLoopFree, modifyLoopFree, replayLoopFree } from './loop-check.ts';
import { cursorsOf, listStreamsAfter, placeAfter } from './stream-cursor.ts';
import {
  LIST_CONTENT,
  listSource,
  REPLAY_CONTENT,
  type ReplayEvent,
  type ReplayStatus,
  replaySource,
  type StreamList,
  type StreamListEvent,
} from './stream-feeds.ts';
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
import { STREAM_METRICS, type StreamTotals } from './stream-metrics.ts';
import { type StreamView, streamView } from './stream-view.ts';

interface StreamPage extends ListConnection<StreamView> {
  readonly problem: string | null;
}

export interface StreamWrite {
  readonly broker: BrokerRecord;
  readonly name: string;
  /** Reads the stream after the mutation. `null` if it does not exist. Errors: those of an unreachable broker. */
  readonly readStream: () => Promise<StreamView | null>;
}

/**
 * The streams of brokers, independent of where they run. Input is checked before anything is sent. Loops between
 * streams are refused even if the broker itself would accept them.
 *
 * Errors of all methods that query a broker: NOT_SUPPORTED_BY_BROKER if no component runs streams, NOT_FOUND, and those
 * of an unreachable broker. Streams of a hosted plugin can be read and changed while the broker is not connected.
 */
export class StreamService {
  readonly #runtimes: BrokerRuntimes;
  readonly #replays: BrokerFeeds<ReplayStatus>;
  readonly #lists: BrokerFeeds<StreamList>;
  readonly #totals = new TotalsOfBrokers(STREAM_METRICS);
  readonly #stop: () => void;

  constructor(options: BrokerFeedsOptions) {
    this.#runtimes = options.runtimes;
    this.#replays = new BrokerFeeds(options, REPLAY_CONTENT, ({ controls }, name) => replaySource(controls, name));
    this.#lists = new BrokerFeeds(options, LIST_CONTENT, ({ controls }) => listSource(controls));
    this.#stop = options.brokerCache.onRemove(({ id }) => this.#totals.remove(id));
  }

  /** Queries the server of a broker's streams. Issues have the field names of the model. */
  askAt<T>(broker: BrokerRecord, question: (controls: ControlCaller) => Promise<T>): Promise<T> {
    return this.#ask(broker, ({ controls }) => question(controls));
  }

  /** Reads a page of the list of the broker. Errors: INVALID. */
  async page(broker: BrokerRecord, args: PageArguments): Promise<StreamPage> {
    const { first, last } = checkedPage(args);
    if (last !== null || args.before != null) {
      throw new ServiceError('INVALID', 'Streams are paged forwards: use first and after');
    }
    const place = placeAfter(args.after);
    const count = first ?? DEFAULT_PAGE;
    const {
      items,
      offset,
      totalCount,
      problem = null,
      provider,
    } = await this.#ask(broker, async ({ controls }) => {
      const { provider } = await controls.capability(STREAM_API);
      // An empty page requests one stream to read the total number.
      const wanted = { count: Math.max(1, count), skipped: args.offset ?? 0 };
      const { items, ...rest } = await listStreamsAfter(controls, place, wanted);
      return { items: items.slice(0, count), ...rest, provider };
    });
    const cursors = cursorsOf(items, offset, place);
    const edges = items.flatMap((entry, index) =>
      entry === null ? [] : [{ cursor: cursors[index] ?? '', node: streamView(broker, provider, entry) }],
    );
    const end = offset + items.length;
    return {
      edges,
      pageInfo: {
        // A broker that lists fewer streams than it counts has no further ones.
        hasNextPage: end < totalCount && (items.length > 0 || count === 0),
        hasPreviousPage: offset > 0,
        startCursor: edges[0]?.cursor ?? null,
        // Includes unreadable entries, so that the next page starts after them.
        endCursor: cursors.at(-1) ?? null,
      },
      totalCount,
      problem,
    };
  }

  async find(broker: BrokerRecord, name: string): Promise<StreamView | null> {
    return this.#ask(broker, async ({ controls }) => {
      const { provider } = await controls.capability(STREAM_API);
      return streamView(broker, provider, await getStream(controls, name));
    }).catch(nullOn('NOT_FOUND'));
  }

  /** The number of stored messages, `null` if the stream stores none. Other brokers may estimate it. */
  async messageCount({ broker, storage, name }: StreamView): Promise<number | null> {
    if (storage !== null) return storage.messages;
    try {
      return await this.#ask(broker, ({ controls }) => getStreamMessageCount(controls, name));
    } catch (error) {
      // "Persistence not configured for this stream", or the stream was deleted.
      if (error instanceof ServiceError && (error.code === 'BROKER_REJECTED' || error.code === 'NOT_FOUND'))
        return null;
      throw error;
    }
  }

  async create(broker: BrokerRecord, input: NewStreamInput): Promise<StreamWrite> {
    const definition = checkedStream(input);
    return this.#write(broker, definition.name, async (controls) => {
      await refuseExpression(broker, controls, definition.query);
      await createLoopFree(broker, controls, definition);
    });
  }

  async update(broker: BrokerRecord, name: string, input: StreamChangesInput): Promise<StreamWrite> {
    const changes = checkedChanges(input);
    return this.#write(broker, name, async (controls) => {
      await refuseExpression(broker, controls, changes.query);
      await modifyLoopFree(broker, controls, name, changes);
    });
  }

  async remove(broker: BrokerRecord, name: string): Promise<StreamWrite> {
    const written = await this.#write(broker, name, (controls) => commandStream(controls, 'deleteStream', name));
    this.#replays.end(broker.id, name);
    return written;
  }

  async setActive(broker: BrokerRecord, name: string, isActive: boolean): Promise<StreamWrite> {
    const command = isActive ? 'enableStream' : 'disableStream';
    return this.#write(broker, name, (controls) => commandStream(controls, command, name));
  }

  /** Deletes stored messages. Errors: INVALID, BROKER_REJECTED if the stream stores none. */
  async clear(broker: BrokerRecord, name: string, input: ClearInput): Promise<StreamWrite> {
    const bounds = checkedBounds(input);
    return this.#write(broker, name, (controls) => clearStreamMessages(controls, name, bounds));
  }

  /**
   * Starts a replay and resolves when it runs.
   * Errors: INVALID, IN_USE (another one runs), BROKER_REJECTED if the stream stores no messages.
   */
  async replay(broker: BrokerRecord, name: string, input: ReplayInput): Promise<StreamWrite> {
    const request = checkedReplay(input);
    return this.#write(broker, name, (controls) => replayLoopFree(broker, controls, name, request));
  }

  async stopReplay(broker: BrokerRecord, name: string): Promise<StreamWrite> {
    return this.#write(broker, name, (controls) => commandStream(controls, 'stopStreamReplay', name));
  }

  watchReplay(broker: BrokerRecord, name: string, options: SubscriberOptions): Promise<LiveSource<ReplayEvent>> {
    return this.#ask(broker, (runtime) => this.#replays.watch(runtime, name, options));
  }

  watch(broker: BrokerRecord, options: SubscriberOptions): Promise<LiveSource<StreamListEvent>> {
    return this.#ask(broker, (runtime) => this.#lists.watch(runtime, '', options));
  }

  async reports(broker: BrokerRecord): Promise<readonly StreamEntry[]> {
    return (await this.#ask(broker, ({ controls }) => listStreams(controls))).items;
  }

  totals(brokers: readonly BrokerRecord[]): Promise<StreamTotals> {
    return this.#totals.read(brokers, async (broker) => {
      // A scrape waits for no connection.
      if (!this.#runtimes.isConnected(broker.id)) throw unreachable(this.#runtimes.status(broker.id));
      return (await this.reports(broker)).flatMap(({ definition, report }) => {
        if (report === null) return [];
        const { counters, state, storage } = report;
        const sizes = { storedBytes: storage.bytes };
        return [{ key: `${counters.since} ${definition.name}`, state, counts: counters, sizes }];
      });
    });
  }

  close(): void {
    this.#stop();
    this.#replays.close();
    this.#lists.close();
  }

  async #write(
    broker: BrokerRecord,
    name: string,
    change: (controls: ControlCaller) => Promise<void>,
  ): Promise<StreamWrite> {
    await placed(this.#ask(broker, ({ controls }) => change(controls)));
    return { broker, name, readStream: () => this.find(broker, name) };
  }

  async #ask<T>(broker: BrokerRecord, question: (runtime: BrokerRuntime) => Promise<T>): Promise<T> {
    if (this.#runtimes.status(broker.id).state !== 'UNREACHABLE') return this.#runtimes.ask(broker, question);
    return question(this.#runtimes.get(broker));
  }
}

/** Errors: NOT_SUPPORTED_BY_BROKER if the broker runs its streams itself: its plugin has no expressions. */
async function refuseExpression({ type }: BrokerRecord, controls: ControlCaller, query?: StreamQuery): Promise<void> {
  if (query?.expression === undefined || type === 'CLOUD') return;
  if ((await controls.capability(STREAM_API)).provider !== 'BROKER') return;
  const reason = 'The stream processing plugin of this broker has no expressions: use select and where';
  throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: STREAM_API, reason } });
}

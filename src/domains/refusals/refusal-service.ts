import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { Polled, PolledEvent, PollSource } from '../../gateway/live/polled-feed.ts';
import { ServiceError } from '../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../platform/paging.ts';
import { cursorOf, type Place, placeIn } from '../../platform/sorting/places.ts';
import { FITS, type FilterMode } from '../../platform/text/text-filter.ts';
import type { Refusal, RefusalKind, RefusalReason } from '../../protocol/apis/refusals/refusal.ts';
import { REFUSALS_API } from '../../protocol/apis/refusals/refusal-control.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import { BrokerFeeds } from '../brokers/broker-feeds.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { differenceOf, splitList } from './refusal-difference.ts';
import { NO_REFUSALS, type RefusalList } from './refusal-list.ts';
import { RefusalReader } from './refusal-reader.ts';

/** A state, or a change of it: then `refusals` are the changed entries, and `removed` the ids of dropped ones. */
interface RefusalState extends RefusalList {
  readonly removed: readonly string[];
}

export type RefusalsEvent = PolledEvent<RefusalState>;

interface RefusalFilter {
  /** User name or client id must match. */
  readonly filter?: { readonly value: string; readonly mode?: FilterMode | null | undefined } | null | undefined;
  readonly clientId?: string | null | undefined;
  readonly username?: string | null | undefined;
  readonly kinds?: readonly RefusalKind[] | null | undefined;
  readonly reasons?: readonly RefusalReason[] | null | undefined;
}

interface RefusalConnection extends ListConnection<Refusal> {
  readonly list: RefusalList;
}

interface RefusalServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
  /** NOT_SUPPORTED_BY_BROKER if refusals of a broker cannot be reported (a cluster). */
  readonly requireSupport: (broker: BrokerRecord) => void;
  /** The refusals of a broker in the history, without those of its present log. */
  readonly earlier: (brokerId: string, log: string) => Promise<readonly Refusal[]>;
  readonly onFault: (error: unknown) => void;
}

/** What brokers have refused. All callers share one reader per broker. */
export class RefusalService {
  readonly #options: RefusalServiceOptions;
  readonly #readers = new Map<string, RefusalReader>();
  readonly #feeds: BrokerFeeds<RefusalState>;

  constructor(options: RefusalServiceOptions) {
    this.#options = options;
    const { runtimes, brokers, onFault } = options;
    const content = {
      initial: { ...NO_REFUSALS, removed: [] },
      changes: (before: Polled<RefusalState>, now: Polled<RefusalState>) => differenceOf(before, now),
      weigh: ({ refusals }: Polled<RefusalState>) => 1 + refusals.length,
      split: (state: Polled<RefusalState>) => splitList(state),
    };
    this.#feeds = new BrokerFeeds({ runtimes, brokerCache: brokers, onFault }, content, (runtime) =>
      this.#sourceOf(runtime),
    );
    runtimes.onRuntime(({ id }, change) => {
      if (change === 'CLOSING') this.#readers.delete(id);
    });
  }

  /** Newest first. Errors: INVALID, NOT_SUPPORTED_BY_BROKER, and those of an unreachable broker. */
  async page(broker: BrokerRecord, args: PageArguments & RefusalFilter): Promise<RefusalConnection> {
    const { first, last } = checkedPage(args);
    if (last !== null || args.before != null) {
      throw new ServiceError('INVALID', 'Refusals can only be paged forwards: use `first` and `after`');
    }
    const list = await this.list(broker);
    requireReported(list, args.kinds);
    const matching = list.refusals.filter((refusal) => matches(refusal, args));
    const from = args.after == null ? 0 : startAfter(matching, args.after);
    const page = matching.slice(from, from + (first ?? DEFAULT_PAGE));
    const edges = page.map((node) => ({ cursor: cursorOf(placeOf(node), NEWEST_FIRST), node }));
    return {
      list,
      edges,
      pageInfo: {
        hasNextPage: from + page.length < matching.length,
        hasPreviousPage: from > 0,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges.at(-1)?.cursor ?? null,
      },
      totalCount: matching.length,
    };
  }

  /** Errors: as `page`. */
  list(broker: BrokerRecord): Promise<RefusalList> {
    return this.#ask(broker, (runtime) => this.#readerOf(runtime).read());
  }

  /** Returns `null` if it was dropped. Errors: as `page`. */
  async find(broker: BrokerRecord, id: string): Promise<Refusal | null> {
    const { refusals } = await this.list(broker);
    return refusals.find((refusal) => refusal.id === id) ?? null;
  }

  /** Errors: as `page`. */
  watch(broker: BrokerRecord, options: SubscriberOptions): Promise<LiveSource<RefusalsEvent>> {
    return this.#ask(broker, (runtime) => this.#feeds.watch(runtime, REFUSALS_API, options));
  }

  /** What the broker reports, without earlier refusals. Errors: as `ControlCaller`. */
  async reported(runtime: BrokerRuntime): Promise<RefusalList> {
    const reader = this.#readerOf(runtime);
    await reader.read();
    return reader.reported;
  }

  close(): void {
    this.#feeds.close();
    this.#readers.clear();
  }

  async #ask<T>(broker: BrokerRecord, request: (runtime: BrokerRuntime) => Promise<T>): Promise<T> {
    const { runtimes, requireSupport } = this.#options;
    requireSupport(broker);
    return runtimes.ask(broker, request);
  }

  #readerOf({ id, controls }: BrokerRuntime): RefusalReader {
    let reader = this.#readers.get(id);
    if (reader === undefined) {
      reader = new RefusalReader(controls, (log) => this.#options.earlier(id, log));
      this.#readers.set(id, reader);
    }
    return reader;
  }

  #sourceOf(runtime: BrokerRuntime): PollSource<RefusalState> {
    const read = async () => ({ ...(await this.#readerOf(runtime).read()), removed: [] });
    return {
      read,
      onEvent: (listener) =>
        runtime.controls.onEvent(REFUSALS_API, () => {
          read().then(listener, (error: unknown) => {
            // The feed polls again once the broker responds.
            if (!(error instanceof ServiceError)) this.#options.onFault(error);
          });
        }),
      sendsEvents: () => true,
    };
  }
}

function requireReported({ kinds, limit }: RefusalList, wanted: RefusalFilter['kinds']): void {
  if (wanted == null || wanted.length === 0 || wanted.some((kind) => kinds.includes(kind))) return;
  const reason = limit ?? 'The broker does not report refusals of these kinds';
  throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason, reportedKinds: kinds } });
}

function matches(refusal: Refusal, { filter, clientId, username, kinds, reasons }: RefusalFilter): boolean {
  if (clientId != null && refusal.clientId !== clientId) return false;
  const usernames = [refusal.username, refusal.takenOverBy?.username ?? null];
  if (username != null && !usernames.includes(username)) return false;
  if (kinds != null && !kinds.includes(refusal.kind)) return false;
  if (reasons != null && !reasons.includes(refusal.reason)) return false;
  if (filter == null) return true;
  const fits = FITS[filter.mode ?? 'contains'];
  return [refusal.clientId, ...usernames].some((name) => name !== null && fits(name, filter.value));
}

/** The time of the entry first, because other processes on the same database number refusals of Mosquitto otherwise. */
const placeOf = ({ lastAt, sequence }: Refusal): Place => ({ value: lastAt, key: String(sequence) });
const NEWEST_FIRST = { field: 'Refusal', direction: 'desc' } as const;

/** An entry that was refused again since the cursor was returned is not in a later page. Errors: INVALID. */
function startAfter(refusals: readonly Refusal[], cursor: string): number {
  const { value, key } = placeIn(cursor, NEWEST_FIRST);
  const at = Number(value);
  const start = refusals.findIndex(({ lastAt, sequence }) => lastAt < at || (lastAt === at && sequence < Number(key)));
  return start < 0 ? refusals.length : start;
}

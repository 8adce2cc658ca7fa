import { setTimeout as pause } from 'node:timers/promises';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { Backoff, type BackoffTimes } from '../../../platform/scheduling/backoff.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import { INSPECT_API, listClients } from '../../../protocol/apis/clients/inspect-control.ts';
import type { ClientsChangedEvent, ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import { parseClientsChanged } from '../../../protocol/apis/clients/inspect-parser.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { type BacklogOf, listedBacklog, readBacklogs } from './client-backlogs.ts';
import { ClientFeeds, type ClientSelection } from './client-feeds.ts';
import { needsBacklogs, requireBacklogs } from './client-filter.ts';
import {
  type ClientListState,
  type ClientRegistryEvent,
  listAllClients,
  MAX_CLIENTS,
  removedKeys,
  withUndecided,
} from './client-listing.ts';
import { type ClientOrder, isByBacklog, pageInOrder, type SortedPage } from './client-order.ts';
import { type ClientPageQuery, pageByKey, SortedClients } from './sorted-clients.ts';

export interface ClientRegistryOptions {
  /** Interval of listings if the API sends no events. Default: 5,000. */
  readonly pollMs?: number;
  /** Time after the last use until the clients are dropped from memory. Default: 60,000. */
  readonly idleMs?: number;
  readonly pageSize?: number;
}

export interface OrderedPageQuery extends ClientPageQuery {
  /** Default: by key, ascending. */
  readonly order?: ClientOrder;
}

interface FilteredPage extends SortedPage, ClientListState {
  /** Number of clients that may match, because a value that the filter needs is unknown. */
  readonly undecided: number;
}

/** Events during one listing. */
const MAX_BUFFERED = 10_000;
const CATCH_UP_MS = 1_000;
const CATCH_UP_BACKOFF: BackoffTimes = { firstMs: 5, longestMs: CATCH_UP_MS };
/** Events that a list includes may be late by this. Old numbers after that mean a restart of the broker. */
const LATE_EVENT_MS = 5_000;

/**
 * The clients of one broker, observed once for all callers: IDLE -> LIVE -> IDLE.
 *
 * The first request or watcher starts a listing of all clients. Then the numbered events of the inspect API update the
 * list. After a missing number, a reconnect or more than MAX_BUFFERED events during a listing, the registry lists again
 * and sends the differences. If the API sends no events (the commercial plugin), it lists every `pollMs` while it is in
 * use. After `idleMs` without use it drops all clients.
 *
 * A page includes everything that the broker acknowledged before the request. A broker sends its events before it
 * responds, so the registry first sends the smallest possible request, one for all waiting callers (`#catchUp`). The
 * log of Mosquitto has no such order.
 *
 * The registry outlives its connection: between `detach` and `attach` watchers wait. Times in milliseconds. Errors:
 * those of the control API; a list is never returned for a broker that is down.
 */
export class ClientRegistry {
  #caller: ControlCaller | null = null;
  #session: BrokerSession;
  readonly #options: Required<ClientRegistryOptions>;
  readonly #clients = new SortedClients();
  readonly #feeds: ClientFeeds;
  #stopStatus: Stop = () => undefined;
  #stopEvents: Stop | null = null;
  #loading: Promise<void> | null = null;
  #buffer: ClientsChangedEvent[] = [];
  #fresh = false;
  /** Number of the last event that the list includes; `null` if the API sends no events. */
  #sequence: number | null = null;
  #listedAt = 0;
  #asOf = 0;
  #reported: Omit<ClientListState, 'asOf' | 'isFollowed'> = {
    source: 'BROKER',
    complete: false,
    incompleteReason: null,
    since: null,
  };
  #lastUse = 0;
  /** The current request, and the next one, for callers that arrive meanwhile. */
  #catchingUp: Promise<void> = Promise.resolve();
  #nextCatchUp: Promise<void> | null = null;
  #readingBacklogs: Promise<BacklogOf> | null = null;
  #ticker: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(caller: ControlCaller, session: BrokerSession, options: ClientRegistryOptions = {}) {
    this.#session = session;
    this.#options = { pollMs: 5_000, idleMs: 60_000, pageSize: 1_000, ...options };
    this.#feeds = new ClientFeeds(this.#clients, () => this.#state());
    this.attach(caller, session);
  }

  /** Observes the broker over another connection, after `detach`. Watchers receive the differences. */
  attach(caller: ControlCaller, session: BrokerSession): void {
    if (this.#closed) return;
    this.#caller = caller;
    this.#session = session;
    this.#stopStatus = session.onStatus(({ state }) => {
      this.#fresh = false;
      if (state === 'CONNECTED') this.#reload();
    });
    if (session.status.state === 'CONNECTED') this.#reload();
  }

  /** Call before the connection is closed: watchers wait for the next `attach`. */
  detach(): void {
    this.#stopStatus();
    this.#stopEvents?.();
    this.#stopEvents = null;
    this.#caller = null;
    this.#loading = null;
    this.#readingBacklogs = null;
    this.#fresh = false;
  }

  /** 0 while idle. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * Not complete if a client may match whose value is unknown. Errors: INVALID for a cursor of another order;
   * NOT_SUPPORTED_BY_BROKER for a condition on numbers that are unknown for all clients.
   */
  async page({ order, ...query }: OrderedPageQuery = {}): Promise<FilteredPage> {
    await this.#upToDate();
    const isBacklogNeeded = needsBacklogs(query) || (order !== undefined && isByBacklog(order));
    const backlogOf = isBacklogNeeded ? await this.#backlogs() : listedBacklog;
    requireBacklogs(query, this.#clients.all(), backlogOf);
    const { offset, count, after, ...filter } = query;
    const { clients, undecided } = this.#clients.search(filter, backlogOf);
    const state = { ...withUndecided(this.#state(), undecided), undecided };
    if (order === undefined) return { ...pageByKey(clients, { offset, count, after }), ...state };
    // A copy, because the list may change between two slices.
    return { ...(await runInSlices(pageInOrder([...clients], order, { offset, count, after }, backlogOf))), ...state };
  }

  /**
   * Call before clients are disconnected. The returned function takes the ids of the disconnected clients, and resolves
   * when the list shows it, or after CATCH_UP_MS. Never rejects.
   */
  expectEnds(clientids: readonly string[]): (ended: readonly string[]) => Promise<void> {
    const previous = new Map(clientids.map((id) => [id, this.#clients.withId(id)]));
    const isEnded = (client: ConnectedClientSummary) =>
      client.connected === false || this.#clients.get(keyOf(client)) !== client;
    const isKnown = (id: string) => previous.get(id)?.every(isEnded) ?? true;
    return async (ended) => {
      const until = Date.now() + CATCH_UP_MS;
      const backoff = new Backoff(CATCH_UP_BACKOFF);
      while (this.#fresh && this.#sequence !== null) {
        const pauseMs = backoff.next();
        if (ended.every(isKnown) || Date.now() + pauseMs > until) return;
        await pause(pauseMs);
      }
      // The API sends no events.
      if (this.#fresh) this.#reload();
    };
  }

  /** Sends all selected clients, then each change. Errors: as `page`, before the first event; RATE_LIMITED. */
  async watch(
    options: SubscriberOptions = {},
    selection: ClientSelection = {},
  ): Promise<LiveSource<ClientRegistryEvent>> {
    await this.#used();
    return this.#feeds.subscribe(selection, options);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopStatus();
    this.#stop();
    this.#feeds.close();
  }

  #state(): ClientListState {
    const live = this.#fresh && this.#sequence !== null;
    return { ...this.#reported, asOf: live ? Date.now() : this.#asOf, isFollowed: this.#sequence !== null };
  }

  async #used(): Promise<void> {
    if (this.#closed) throw notObserved();
    this.#lastUse = Date.now();
    if (!this.#fresh) await this.#load();
  }

  /** Only for single reads; watchers receive late events soon. */
  async #upToDate(): Promise<void> {
    const isListedNow = !this.#fresh && this.#loading === null;
    await this.#used();
    if (!isListedNow && this.#sequence !== null && this.#reported.source === 'BROKER') await this.#catchUp();
  }

  #catchUp(): Promise<void> {
    this.#nextCatchUp ??= this.#catchingUp
      .catch(() => undefined)
      .then(() => {
        this.#nextCatchUp = null;
        this.#catchingUp = this.#catchUpNow();
        return this.#catchingUp;
      });
    return this.#nextCatchUp;
  }

  async #catchUpNow(): Promise<void> {
    if (this.#caller === null) throw notObserved();
    const { sequence = 0 } = await listClients(this.#caller, { verbose: false, count: 1 });
    const isBehind = this.#sequence !== null && this.#sequence < sequence;
    if (!this.#fresh || isBehind) await this.#load();
  }

  /** Callers that arrive during a reading share it. */
  #backlogs(): Promise<BacklogOf> {
    if (this.#caller === null) throw notObserved();
    if (this.#readingBacklogs !== null) return this.#readingBacklogs;
    const reading = readBacklogs(this.#caller).finally(() => {
      if (this.#readingBacklogs === reading) this.#readingBacklogs = null;
    });
    this.#readingBacklogs = reading;
    return reading;
  }

  #load(): Promise<void> {
    if (this.#loading !== null) return this.#loading;
    const loading = this.#list().finally(() => {
      if (this.#loading === loading) this.#loading = null;
    });
    this.#loading = loading;
    return loading;
  }

  async #list(): Promise<void> {
    const caller = this.#caller;
    if (caller === null) throw notObserved();
    const { provider } = await caller.capability(INSPECT_API);
    if (caller !== this.#caller) throw notObserved();
    this.#stopEvents ??= caller.onEvent(INSPECT_API, (event) => this.#eventReceived(event));
    this.#buffer = [];
    const isLocal = provider === 'GATEWAY';
    const list = await (isLocal ? listClients(caller) : listAllClients(caller, this.#options.pageSize));
    if (this.#closed) return;
    if (caller !== this.#caller) throw notObserved();
    const { source = isLocal ? 'LOG_FEED' : 'BROKER', complete = true, since = null } = list;
    this.#reported = { source, ...completeness(complete, list, list.clients.length > MAX_CLIENTS), since };
    this.#sequence = list.sequence ?? null;
    this.#listedAt = Date.now();
    this.#asOf = this.#listedAt;
    const difference = this.#clients.replace(list.clients.slice(0, MAX_CLIENTS));
    this.#fresh = this.#session.status.state === 'CONNECTED';
    if (difference.changed.length + difference.removed.length > 0) this.#feeds.publish(difference);
    const buffered = this.#buffer;
    this.#buffer = [];
    if (buffered.length >= MAX_BUFFERED) this.#fresh = false;
    else for (const event of buffered) this.#apply(event);
    this.#ticker ??= setInterval(() => this.#tick(), this.#options.pollMs).unref();
  }

  #eventReceived(event: unknown): void {
    const parsed = parseClientsChanged(event);
    if (!parsed) return;
    if (this.#loading === null) this.#apply(parsed);
    else if (this.#buffer.length < MAX_BUFFERED) this.#buffer.push(parsed);
  }

  #apply(event: ClientsChangedEvent): void {
    if (!this.#fresh || this.#sequence === null) return;
    const isLate = event.sequence <= this.#sequence && Date.now() - this.#listedAt <= LATE_EVENT_MS;
    if (isLate) return;
    if (event.sequence !== this.#sequence + 1) {
      this.#reload();
      return;
    }
    this.#sequence = event.sequence;
    this.#asOf = Date.now();
    const { source, ...previous } = this.#reported;
    const isFull = this.#clients.size + event.changed.length > MAX_CLIENTS;
    const changed = isFull ? event.changed.filter((client) => this.#clients.get(keyOf(client))) : event.changed;
    const difference = this.#clients.apply({ changed, removed: removedKeys(event) });
    const { complete = previous.complete, since = previous.since } = event;
    this.#reported = { source, ...completeness(complete, event, isFull), since };
    const isChange = difference.changed.length + difference.removed.length > 0;
    if (!isChange && this.#reported.complete === previous.complete) return;
    this.#feeds.publish(difference);
  }

  /** Without watchers the next caller lists again. */
  #reload(): void {
    this.#fresh = false;
    if (!this.#feeds.isWatched) return;
    // The ticker retries.
    this.#load().catch(() => undefined);
  }

  #tick(): void {
    this.#feeds.evictIdle(this.#options.idleMs);
    if (this.#loading !== null) return;
    const { isWatched } = this.#feeds;
    if (!isWatched && Date.now() - this.#lastUse > this.#options.idleMs) {
      this.#stop();
    } else if (this.#sequence === null || (!this.#fresh && isWatched)) {
      this.#load().catch(() => {
        this.#fresh = false;
      });
    }
  }

  #stop(): void {
    this.#stopEvents?.();
    this.#stopEvents = null;
    if (this.#ticker) clearInterval(this.#ticker);
    this.#ticker = null;
    this.#fresh = false;
    this.#clients.clear();
    this.#feeds.reset();
  }
}

function completeness(
  complete: boolean,
  { incompleteReason = null }: { incompleteReason?: string | null },
  isFull: boolean,
) {
  if (isFull) return { complete: false, incompleteReason: `The broker has more than ${MAX_CLIENTS} clients` };
  return { complete, incompleteReason: complete ? null : incompleteReason };
}

const notObserved = () =>
  new ServiceError(
    'BROKER_UNREACHABLE',
    'The clients of the broker are not observed, because its connection is being replaced or closed: retry the request',
  );

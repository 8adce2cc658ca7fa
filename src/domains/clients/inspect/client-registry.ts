import { setTimeout as pause } from 'node:timers/promises';
import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { FilterMode } from '../../../platform/text/text-filter.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { keyOf } from './client-key.ts';
import { INSPECT_API, listClients } from './inspect-control.ts';
import type { ClientSource, ClientsChangedEvent, ConnectedClientSummary, ListClientsData } from './inspect-data.ts';
import { parseClientsChanged } from './inspect-parser.ts';
import { type ClientDifference, indexFrom, SortedClients } from './sorted-clients.ts';

/**
 * Who is connected to one broker, observed once for all who look: IDLE -> LIVE -> IDLE.
 *
 * Starts with the first question or watcher: lists all clients, page by page, then applies the events of the inspect API by
 * their numbers. A number left out, a reconnect or too many events while listing mean: list again, tell the differences.
 * Where the API tells no events (the commercial plugin) it lists again every `pollMs` while somebody watches or has asked
 * lately. After `idleMs` without either everything is let go; who follows the log does so on its own (inspect-plugin.ts).
 *
 * What a broker has acknowledged before somebody asks is in the answer: a broker tells its events before it answers a question, so
 * the shortest one is asked first, for all who wait (`#catchUp`). The log of a Mosquitto has no such order.
 *
 * It outlives its connection: between `detach` and `attach` (other settings of the broker) watchers wait.
 *
 * Bounds: MAX_CLIENTS clients, further ones are left out and `complete` is false; MAX_BUFFERED events while listing; a watcher's
 * queue as in Broadcast. Times in milliseconds. Errors: those of the caller; what is known is never told for a broker that is down.
 */
export interface ClientRegistryOptions {
  /** The link, so that a lost one is noticed at once and a new one listed anew. */
  readonly session?: Pick<BrokerSession, 'status' | 'onStatus'>;
  /** Default 5000. */
  readonly pollMs?: number;
  /** Default 60,000. */
  readonly idleMs?: number;
  /** Clients per page of the first listing. Default 1000. */
  readonly pageSize?: number;
}

export interface ClientPageQuery {
  /** Left out at the start; counted after `after`. Default 0. */
  readonly offset?: number;
  /** -1: all. Default -1. */
  readonly count?: number;
  /** Only clients whose key comes after this one. */
  readonly after?: string;
  /** Compared with client id and user name; either may match. Empty or absent: all clients. */
  readonly filterValue?: string;
  /** Default `contains`. */
  readonly filterMode?: FilterMode;
  /** Only clients that are connected (or may be), or only persistent sessions that are not. */
  readonly connected?: boolean;
  /** Only clients of this user name. */
  readonly username?: string;
}

/** How old a list is, where it comes from, and what may be missing. */
export interface ClientListState {
  /** Epoch milliseconds. */
  readonly asOf: number;
  readonly source: ClientSource;
  readonly complete: boolean;
  /** Epoch milliseconds since when clients are followed; null: the broker lists them all. */
  readonly since: number | null;
  /** Clients are kept true by events, which are told when connections change: their `queues` are older than `asOf`. */
  readonly isFollowed: boolean;
}

export interface ClientPage extends ClientListState {
  readonly clients: readonly ConnectedClientSummary[];
  /** Of the whole filtered list. */
  readonly totalCount: number;
  /** Place of the first client of the page in the filtered list. */
  readonly offset: number;
}

export interface ClientSnapshot extends ClientListState {
  readonly clients: readonly ConnectedClientSummary[];
}

export interface ClientChange extends ClientListState {
  readonly changed: readonly ConnectedClientSummary[];
  /** Keys of those that went. */
  readonly removed: readonly string[];
}

export type ClientRegistryEvent = BroadcastEvent<ClientSnapshot, ClientChange>;

const MAX_CLIENTS = 500_000;
/** Clients in one event: what is made of it in one piece shall not hold the event loop. */
const EVENT_CLIENTS = 1_000;
const MAX_BUFFERED = 10_000;
/** A listing during which clients come and go is repeated so often before it is taken as it is. */
const MAX_LISTINGS = 3;
const CATCH_UP_MS = 1_000;
/** An event that a list includes may arrive so long after it; later ones with an old number mean that counting began anew. */
const LATE_EVENT_MS = 5_000;

export class ClientRegistry {
  #caller: ControlCaller | null = null;
  readonly #pollMs: number;
  readonly #idleMs: number;
  readonly #pageSize: number;
  #session: Pick<BrokerSession, 'status' | 'onStatus'> | null = null;
  readonly #clients = new SortedClients();
  readonly #broadcast: Broadcast<ClientSnapshot, ClientChange>;
  #stopStatus: Stop = () => undefined;
  #stopEvents: Stop | null = null;
  #loading: Promise<void> | null = null;
  #buffer: ClientsChangedEvent[] = [];
  /** What is known is what the broker has, as far as anybody can tell. */
  #fresh = false;
  /** Number of the last event that is included; null: the API tells none. */
  #sequence: number | null = null;
  #listedAt = 0;
  #asOf = 0;
  #source: ClientSource = 'BROKER';
  #complete = false;
  #since: number | null = null;
  #askedAt = 0;
  /** The question whose answer comes after all that was told before, and the next one, for who comes while it is under way. */
  #catchingUp: Promise<void> = Promise.resolve();
  #nextCatchUp: Promise<void> | null = null;
  #ticker: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(
    caller: ControlCaller,
    { session, pollMs = 5_000, idleMs = 60_000, pageSize = 1_000 }: ClientRegistryOptions = {},
  ) {
    this.#pollMs = pollMs;
    this.#idleMs = idleMs;
    this.#pageSize = pageSize;
    this.#broadcast = new Broadcast(() => ({ clients: [...this.#clients.all()], ...this.#state() }), {
      split: splitSnapshot,
      weigh: ({ changed, removed }) => changed.length + removed.length,
    });
    this.attach(caller, session);
  }

  /** Follows the broker by way of another connection, after `detach`; what is different then is told as a change. */
  attach(caller: ControlCaller, session?: Pick<BrokerSession, 'status' | 'onStatus'>): void {
    if (this.#closed) return;
    this.#caller = caller;
    this.#session = session ?? null;
    this.#stopStatus = session?.onStatus((status) => this.#statusChanged(status)) ?? (() => undefined);
    if (session?.status.state === 'CONNECTED') this.#reload();
  }

  /** The connection is about to be closed for good: watchers wait for the next one. */
  detach(): void {
    this.#stopStatus();
    this.#stopEvents?.();
    this.#stopEvents = null;
    this.#caller = null;
    this.#session = null;
    this.#loading = null;
    this.#fresh = false;
  }

  /** Clients known now; 0 while idle. */
  get size(): number {
    return this.#clients.size;
  }

  get asOf(): number {
    return this.#state().asOf;
  }

  get source(): ClientSource {
    return this.#source;
  }

  get complete(): boolean {
    return this.#complete;
  }

  get since(): number | null {
    return this.#since;
  }

  async page({
    offset = 0,
    count = -1,
    after,
    filterValue = '',
    filterMode = 'contains',
    ...exact
  }: ClientPageQuery = {}): Promise<ClientPage> {
    await this.#upToDate();
    const isWhole = filterValue === '' && exact.connected === undefined && exact.username === undefined;
    const list = isWhole
      ? this.#clients.all()
      : this.#clients.matching({ value: filterValue, mode: filterMode, ...exact });
    const first = (after === undefined ? 0 : indexAfter(list, after)) + Math.max(0, offset);
    const clients = list.slice(first, count < 0 ? undefined : first + count);
    return { clients, totalCount: list.length, offset: Math.min(first, list.length), ...this.#state() };
  }

  /** Null: no such client. */
  async get(clientid: string): Promise<(ConnectedClientSummary & ClientListState) | null> {
    await this.#upToDate();
    const [client = null] = this.#clients.withId(clientid);
    return client && { ...client, ...this.#state() };
  }

  /**
   * Before clients are disconnected. What it answers is called with those who were, and resolves when they are known to be: whoever
   * looks next must not see them as they were. At most CATCH_UP_MS later; never rejects.
   */
  expectEnds(clientids: readonly string[]): (ended: readonly string[]) => Promise<void> {
    const before = new Map(clientids.map((id) => [id, this.#clients.withId(id)]));
    const isEnded = (client: ConnectedClientSummary) =>
      client.connected === false || this.#clients.get(keyOf(client)) !== client;
    const isKnown = (id: string) => before.get(id)?.every(isEnded) ?? true;
    return async (ended) => {
      const until = Date.now() + CATCH_UP_MS;
      for (let pauseMs = 5; this.#fresh && this.#sequence !== null; pauseMs *= 2) {
        if (ended.every(isKnown) || Date.now() + pauseMs > until) return;
        await pause(pauseMs);
      }
      // Nobody tells of changes, so the list is read again.
      if (this.#fresh) this.#reload();
    };
  }

  /** All clients now, then each change. Errors: as `page`, before anything is watched. */
  async watch(options: SubscriberOptions = {}): Promise<LiveSource<ClientRegistryEvent>> {
    await this.#used();
    return this.#broadcast.subscribe(options);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopStatus();
    this.#stop();
    this.#broadcast.close();
  }

  #state(): ClientListState {
    const live = this.#fresh && this.#sequence !== null;
    return {
      asOf: live ? Date.now() : this.#asOf,
      source: this.#source,
      complete: this.#complete,
      since: this.#since,
      isFollowed: this.#sequence !== null,
    };
  }

  async #used(): Promise<void> {
    if (this.#closed) throw notObserved();
    this.#askedAt = Date.now();
    if (!this.#fresh) await this.#load();
  }

  /** For who looks once; who watches is told in a moment. */
  async #upToDate(): Promise<void> {
    const isListedNow = !this.#fresh && this.#loading === null;
    await this.#used();
    if (!isListedNow && this.#sequence !== null && this.#source === 'BROKER') await this.#catchUp();
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

  /** One listing at a time, for all who wait for it. */
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
    this.#stopEvents ??= caller.onEvent(INSPECT_API, (event) => this.#eventTold(event));
    this.#buffer = [];
    const list = await this.#wholeList(caller, provider === 'GATEWAY');
    if (this.#closed) return;
    if (caller !== this.#caller) throw notObserved();
    this.#source = list.source ?? (provider === 'GATEWAY' ? 'LOG_FEED' : 'BROKER');
    this.#sequence = list.sequence ?? null;
    this.#listedAt = Date.now();
    this.#asOf = this.#listedAt;
    const difference = this.#clients.replace(list.clients.slice(0, MAX_CLIENTS));
    this.#takeState(list.complete ?? true, list.since ?? null, list.clients.length > MAX_CLIENTS);
    this.#fresh = this.#session === null || this.#session.status.state === 'CONNECTED';
    for (const change of partsOf(difference)) this.#broadcast.publish({ ...change, ...this.#state() });
    const buffered = this.#buffer;
    this.#buffer = [];
    if (buffered.length >= MAX_BUFFERED) this.#fresh = false;
    else for (const event of buffered) this.#apply(event);
    this.#ticker ??= setInterval(() => this.#tick(), this.#pollMs);
    this.#ticker.unref();
  }

  /** Pages of one moment: when the number of events moved between them, a client may have slipped through, so it lists again. */
  async #wholeList(caller: ControlCaller, isLocal: boolean): Promise<ListClientsData> {
    if (isLocal) return listClients(caller);
    for (let attempt = 1; ; attempt++) {
      const first = await listClients(caller, { count: this.#pageSize });
      const clients = new Map(first.clients.map((client) => [keyOf(client), client]));
      let isSteady = true;
      let offset = first.clients.length;
      while (offset < first.totalCount && clients.size < MAX_CLIENTS) {
        const page = await listClients(caller, { offset, count: this.#pageSize });
        const before = clients.size;
        for (const client of page.clients) clients.set(keyOf(client), client);
        // A broker that ignores the offset, or promises more than it has, brings nobody new.
        if (clients.size === before) break;
        offset += page.clients.length;
        isSteady &&= page.sequence === first.sequence;
      }
      if (isSteady || attempt >= MAX_LISTINGS) return { ...first, clients: [...clients.values()] };
    }
  }

  #eventTold(event: unknown): void {
    const told = parseClientsChanged(event);
    if (!told) return;
    if (this.#loading === null) this.#apply(told);
    else if (this.#buffer.length < MAX_BUFFERED) this.#buffer.push(told);
  }

  #apply(event: ClientsChangedEvent): void {
    if (!this.#fresh || this.#sequence === null) return;
    if (event.sequence <= this.#sequence) {
      if (Date.now() - this.#listedAt > LATE_EVENT_MS) this.#reload();
      return;
    }
    if (event.sequence !== this.#sequence + 1) {
      this.#reload();
      return;
    }
    this.#sequence = event.sequence;
    this.#asOf = Date.now();
    const wasComplete = this.#complete;
    const isFull = this.#clients.size + event.changed.length > MAX_CLIENTS;
    const changed = isFull ? event.changed.filter((client) => this.#clients.get(keyOf(client))) : event.changed;
    const difference = this.#clients.apply({ changed, removed: removedKeys(event) });
    this.#takeState(event.complete ?? this.#complete, event.since ?? this.#since, isFull);
    const isNews = difference.changed.length + difference.removed.length > 0 || this.#complete !== wasComplete;
    if (isNews) this.#broadcast.publish({ ...difference, ...this.#state() });
  }

  #takeState(complete: boolean, since: number | null, overflowed: boolean): void {
    this.#complete = complete && !overflowed;
    this.#since = since;
  }

  /** Lists again for those who watch; who asks next does so itself. */
  #reload(): void {
    this.#fresh = false;
    if (!this.#isWatched) return;
    // What fails here fails again for the next who asks, and is told there; the ticker tries again for watchers.
    this.#load().catch(() => undefined);
  }

  get #isWatched(): boolean {
    return this.#broadcast.subscriberCount > 0;
  }

  #statusChanged({ state }: LinkStatus): void {
    this.#fresh = false;
    if (state === 'CONNECTED') this.#reload();
  }

  #tick(): void {
    if (this.#loading !== null) return;
    if (!this.#isWatched && Date.now() - this.#askedAt > this.#idleMs) {
      this.#stop();
    } else if (this.#sequence === null || (!this.#fresh && this.#isWatched)) {
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
    this.#broadcast.reset();
  }
}

const notObserved = () =>
  new ServiceError('BROKER_UNREACHABLE', 'The clients of the broker are not observed any more, or not yet again');

function splitSnapshot({ clients, ...state }: ClientSnapshot): { first: ClientSnapshot; rest: ClientChange[] } {
  const [first = [], ...rest] = piecesOf(clients);
  return {
    first: { clients: first, ...state },
    rest: rest.map((changed) => ({ changed, removed: [], ...state })),
  };
}

/** A difference as changes of EVENT_CLIENTS at most; none when nothing is different. */
function* partsOf({ changed, removed }: ClientDifference): Generator<ClientDifference> {
  if (changed.length + removed.length <= EVENT_CLIENTS) {
    if (changed.length + removed.length > 0) yield { changed, removed };
    return;
  }
  for (const piece of piecesOf(removed)) yield { changed: [], removed: piece };
  for (const piece of piecesOf(changed)) yield { changed: piece, removed: [] };
}

function piecesOf<T>(list: readonly T[]): (readonly T[])[] {
  const pieces: (readonly T[])[] = [];
  for (let start = 0; start < list.length; start += EVENT_CLIENTS)
    pieces.push(list.slice(start, start + EVENT_CLIENTS));
  return pieces;
}

/** Place of the first client whose key is after `key`. */
function indexAfter(clients: readonly ConnectedClientSummary[], key: string): number {
  const index = indexFrom(clients, key);
  const client = clients[index];
  return client !== undefined && keyOf(client) === key ? index + 1 : index;
}

const removedKeys = ({ removed, removedNodes }: ClientsChangedEvent): readonly string[] =>
  removedNodes === undefined
    ? removed
    : removed.map((clientid, index) => {
        const node = removedNodes[index];
        return keyOf(node === undefined ? { clientid } : { clientid, node });
      });

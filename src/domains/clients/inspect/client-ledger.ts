import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type {
  ClientProtocol,
  ConnectedClientDetail,
  ConnectedClientSummary,
} from '../../../protocol/apis/clients/inspect-data.ts';
import { FirstSubscribers, type SubscriberList } from '../../../protocol/apis/clients/subscriber-list.ts';
import {
  BY_ADMINISTRATOR,
  type ConnectedLine,
  type DisconnectedLine,
  type LogLine,
  TAKEN_OVER,
} from '../../../protocol/mosquitto-log/log-line.ts';
import { filterMatches, withoutShare } from '../../../protocol/mqtt/filter-match.ts';
import { AccountIndex, type AccountUse, AdministrativeDisconnects } from './account-index.ts';
import { type ClientEntry, detailOf, newEntry, plainAddress, setConnection, summaryOf } from './client-entry.ts';
import type { KnownListener, ListenersByPort } from './client-listeners.ts';
import { FollowedSubscriptions, type SubscriptionsLine } from './followed-subscriptions.ts';
import { BROKER_RESTARTED, connected, ended, type LedgerEvent, timeOf } from './ledger-events.ts';
import { OtherEnds, type OtherEndsOptions } from './other-ends.ts';
import { TakeoverLines } from './takeover-lines.ts';
import { UncertainClients } from './uncertain-clients.ts';

interface ClientLedgerOptions extends OtherEndsOptions {
  /** Maximum number of clients. Default: 200,000. Further clients are not stored, and `overflowed` is true. */
  readonly maxClients?: number;
  /** Default: MAX_SUBSCRIPTION_BYTES. */
  readonly maxSubscriptionBytes?: number;
  readonly onChange: (clientid: string) => void;
}

/** A connection of this service, as the link describes it. `account` is `undefined` if the link does not report it. */
type GatewayConnection = Pick<ClientEntry, 'account' | 'protocol' | 'protocolVersion' | 'keepalive' | 'lastConnect'>;

/** Maximum number of offline persistent sessions. The session that went offline first is dropped. */
export const MAX_OFFLINE = 20_000;
const MAX_SUBSCRIPTION_BYTES = 128 * 1024 * 1024;
/** Connections without a CONNECT packet yet; the oldest is dropped. */
const MAX_OPENED = 10_000;

/** The clients of one broker according to its log. Has no connection and no timers. */
export class ClientLedger {
  readonly #maxClients: number;
  readonly #onChange: (clientid: string) => void;
  readonly #onEvent: (event: LedgerEvent) => void;
  readonly #entries = new Map<string, ClientEntry>();
  /** Ids of offline persistent sessions; the session that went offline first is first. */
  readonly #offline = new Set<string>();
  /** Listener ports of connections, by address and port of the client. */
  readonly #opened = new Map<string, number>();
  /** Ids of this service's own connections. */
  readonly #gateways = new Set<string>();
  readonly #accounts = new AccountIndex();
  readonly #subscriptions: FollowedSubscriptions;
  readonly takeovers = new TakeoverLines();
  readonly #uncertain = new UncertainClients();
  readonly kicks = new AdministrativeDisconnects();
  #sorted: ClientEntry[] | null = null;
  /** The client whose connection was replaced by the next one that is logged. */
  #replaced: string | null = null;
  readonly #others: OtherEnds;
  #isVersion20: boolean | null = null;
  #listeners: ListenersByPort = new Map();
  /** Number of the last connection that was logged. */
  lastConnection = 0;
  overflowed = false;
  /** Number of offline sessions that were dropped beyond MAX_OFFLINE. */
  droppedSessions = 0;
  subscriptionsFollowed = false;

  constructor(options: ClientLedgerOptions) {
    const { maxClients = 200_000, maxSubscriptionBytes = MAX_SUBSCRIPTION_BYTES } = options;
    this.#maxClients = maxClients;
    this.#subscriptions = new FollowedSubscriptions(maxSubscriptionBytes);
    this.#onChange = options.onChange;
    this.#onEvent = options.onEvent ?? (() => undefined);
    this.#others = new OtherEnds(options);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Number of clients that may have disconnected. They count as connected. */
  get uncertainCount(): number {
    return this.#uncertain.size;
  }

  /** Whether the state of some of them is unknown. The others are presumably connected. */
  get hasUnknownStates(): boolean {
    return this.#uncertain.areUnknown;
  }

  /** Includes this service's connections to sessions that it takes over. */
  get connectedCount(): number {
    return this.#entries.size - this.#offline.size + this.takeovers.ownCount;
  }

  /** May be set after the first clients were added. */
  set version(text: string) {
    this.#isVersion20 = /\b2\.0\./.test(text);
    this.takeovers.logsLateEnds = this.#isVersion20;
    this.#updateProtocols();
  }

  /** May be set after the first clients were added. Empty if the listeners are unknown. */
  set listeners(listeners: ListenersByPort) {
    this.#listeners = listeners;
    this.#updateProtocols();
  }

  has(clientid: string): boolean {
    return this.#entries.has(clientid);
  }

  summary(clientid: string): ConnectedClientSummary | null {
    const entry = this.#entries.get(clientid);
    return entry ? summaryOf(entry) : null;
  }

  detail(clientid: string): ConnectedClientDetail | null {
    const entry = this.#entries.get(clientid);
    if (!entry) return null;
    const logsTls = this.#isVersion20 === null ? null : !this.#isVersion20;
    const listener = this.#listenerOf(entry);
    return detailOf(entry, { listener, logsTls, subscriptionsFollowed: this.subscriptionsFollowed });
  }

  /** Clients that connect or subscribe meanwhile may be missing. */
  *subscribers(topic: string, count: number, isComplete: boolean): SlicedTask<SubscriberList> {
    const first = new FirstSubscribers(count);
    let complete = isComplete;
    for (const { clientid, connected, subscriptions, unlisted, uncounted } of this.#entries.values()) {
      complete &&= uncounted === null && !unlisted?.size;
      for (const [filter, qos] of subscriptions) {
        if (filterMatches(withoutShare(filter), topic)) first.add({ clientid, filter, qos, connected });
      }
      yield;
    }
    return first.list(complete);
  }

  accountOf(clientid: string): AccountUse | null {
    const entry = this.#entries.get(clientid);
    if (!entry) return null;
    return this.#accounts.useOf(
      entry,
      [...this.#gateways].map((id) => this.#entries.get(id)?.account),
    );
  }

  /** Whether this connection of the client has ended, and the takeover of its session, too. */
  hasEnded(clientid: string, connection: number): boolean {
    if (this.takeovers.isTaken(clientid)) return false;
    const entry = this.#entries.get(clientid);
    return !entry?.connected || entry.connection !== connection;
  }

  page(offset: number, count: number): ConnectedClientSummary[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
    return this.#sorted.slice(offset, count < 0 ? undefined : offset + count).map(summaryOf);
  }

  /**
   * @param now when the line arrived, epoch milliseconds
   * @returns change of the number of unknown connections
   */
  apply(line: LogLine, now: number): -1 | 0 | 1 {
    const at = timeOf(line, now);
    this.#others.lineRead(line);
    switch (line.kind) {
      case 'OPENED':
        if (this.#opened.size >= MAX_OPENED) this.#opened.delete(this.#opened.keys().next().value ?? '');
        this.#opened.set(`${line.address}:${line.port}`, line.listenerPort);
        break;
      case 'CONNECTED':
        if (this.takeovers.isOwnConnect(line))
          this.#disconnect({ clientid: line.clientid, address: null, port: null, reason: TAKEN_OVER }, at);
        else if (!this.#connect(line, at)) return 1;
        break;
      case 'CONNECTED_UNREAD':
        return 1;
      case 'DISCONNECTED':
        return this.#ended(line, at);
      case 'STARTED':
        this.removeUntil(this.lastConnection);
        break;
      case 'EXPIRED':
        if (this.#offline.has(line.clientid)) this.#remove(line.clientid);
        break;
      case 'TLS':
        this.#change(line.clientid, (entry) => Object.assign(entry, { tls: line.tls }));
        break;
      case 'SUBSCRIBED':
      case 'UNSUBSCRIBED':
        for (const id of [line.clientid, ...(line.others ?? [])]) this.#subscriptionsChanged(id, line);
        break;
    }
    return 0;
  }

  /** Adds a connection of this service that exists since before the log was followed. */
  addGateway(clientid: string, { account, ...known }: GatewayConnection): void {
    this.#gateways.add(clientid);
    const entry = this.#entries.get(clientid) ?? this.#create(clientid);
    if (!entry) return;
    if (account !== undefined) this.#accounts.move(entry, account);
    Object.assign(entry, known);
    this.#online(entry);
  }

  /** Takes user name and address of a connection of this service from the log line of its second connection. */
  describeGateway(clientid: string, { username, address }: ConnectedLine): void {
    this.#change(clientid, (entry) => {
      this.#accounts.move(entry, username);
      entry.address = plainAddress(address);
    });
  }

  /** Called when a count of connections shows that all uncertain clients have disconnected. */
  endUncertain(): void {
    for (const { line, at } of this.#uncertain.take()) this.#disconnect(line, at);
  }

  setUncertain(isUnknown: boolean): void {
    for (const { clientid } of this.#uncertain.setUnknown(isUnknown)) this.#onChange(clientid);
  }

  clear(): void {
    for (const [clientid, entry] of this.#entries) {
      this.#subscriptions.clear(entry);
      this.#onChange(clientid);
    }
    this.#entries.clear();
    this.#offline.clear();
    this.#opened.clear();
    this.#accounts.clear();
    this.takeovers.clear();
    this.#uncertain.clear();
    this.#sorted = null;
    this.overflowed = false;
    this.droppedSessions = 0;
  }

  /** Removes this connection and earlier ones: the broker restarted after it, which logs no disconnects. */
  removeUntil(connection: number): void {
    for (const entry of [...this.#entries.values()]) {
      if (!entry.connected || entry.gateway || entry.connection > connection) continue;
      this.#onEvent(ended(entry, BROKER_RESTARTED, Date.now()));
      this.#remove(entry.clientid);
    }
  }

  #listenerOf({ listenerPort }: ClientEntry): KnownListener | undefined {
    return listenerPort === null ? undefined : this.#listeners.get(listenerPort);
  }

  #protocolOf(entry: ClientEntry): ClientProtocol | null {
    return this.#listenerOf(entry)?.protocol ?? (this.#isVersion20 ? entry.protocolOf20 : null);
  }

  #updateProtocols(): void {
    for (const entry of this.#entries.values()) {
      const protocol = this.#protocolOf(entry);
      if (entry.gateway || entry.protocol === protocol) continue;
      entry.protocol = protocol;
      this.#onChange(entry.clientid);
    }
  }

  /** `false` if `maxClients` is reached. */
  #connect(line: ConnectedLine, at: number): boolean {
    const entry = this.#entries.get(line.clientid) ?? this.#create(line.clientid);
    if (!entry) {
      this.#onEvent({ ...connected(line), at });
      return false;
    }
    const uncertain = this.#uncertain.delete(entry);
    if (entry.connected && entry.lastConnect !== null)
      this.#onEvent(uncertain ? ended(entry, uncertain.line.reason, uncertain.at) : ended(entry, TAKEN_OVER, at));
    // The end of the replaced connection is logged as an error only, and the end of a WebSocket after this line.
    if (entry.connected && entry.lastConnect !== null) {
      this.takeovers.replaced(entry);
      this.#replaced = entry.clientid;
    }
    // Without a session, the entry of the replaced connection was removed.
    if (this.#replaced === entry.clientid) Object.assign(entry, { lastDisconnect: at, disconnectReason: TAKEN_OVER });
    this.#replaced = null;
    const listenerPort = this.#opened.get(`${line.address}:${line.port}`) ?? null;
    this.#opened.delete(`${line.address}:${line.port}`);
    this.#accounts.move(entry, line.username);
    const isNewSession = setConnection(entry, line, listenerPort);
    if (isNewSession) this.#subscriptions.clear(entry);
    if (!entry.gateway) entry.protocol = this.#protocolOf(entry);
    // The replaced connection presumably had the same protocol.
    if (this.#others.wasReplaced(line)) this.takeovers.replaced(entry);
    entry.connection = ++this.lastConnection;
    entry.lastConnect = at;
    this.#online(entry);
    this.#onEvent({ ...connected(line), listenerPort, protocol: entry.protocol, at });
    return true;
  }

  /** @returns change of the number of unknown connections */
  #ended(line: DisconnectedLine, at: number): -1 | 0 {
    const { clientid, ends, port } = line;
    if (ends === 'NOT_ADMITTED' || this.takeovers.isOwnDisconnect(line) || this.takeovers.isLateDisconnect(line))
      return 0;
    const entry = this.#entries.get(clientid);
    if (entry === undefined) return this.#others.ended(line, at);
    // With a port, the line is certainly about the client, or about another connection.
    if (ends !== 'UNCERTAIN' || port !== null) this.#disconnect(line, at);
    else if (entry.connected) {
      this.#uncertain.add(entry, line, at);
      this.#onChange(clientid);
    }
    return 0;
  }

  #disconnect(
    { clientid, address, port, reason }: Pick<DisconnectedLine, 'clientid' | 'address' | 'port' | 'reason'>,
    at: number,
  ): void {
    const entry = this.#entries.get(clientid);
    if (!entry?.connected) return;
    // The line is about an earlier connection of this client id, or about a refused one.
    if (port !== null && entry.port !== null && port !== entry.port) return;
    if (address !== null && entry.address !== null && plainAddress(address) !== entry.address) return;
    this.#uncertain.delete(entry);
    if (reason === TAKEN_OVER) {
      this.takeovers.replaced(entry);
      this.#replaced = clientid;
    }
    if (reason === BY_ADMINISTRATOR && entry.account !== undefined) this.kicks.add(entry.account, clientid);
    // This service takes over the session for a command.
    const isByService = reason === TAKEN_OVER && this.takeovers.isTaken(clientid);
    this.#onEvent(ended(entry, isByService ? BY_ADMINISTRATOR : reason, at));
    entry.connected = false;
    entry.lastDisconnect = at;
    entry.disconnectReason = reason;
    if (entry.clean === false) {
      this.#offline.add(clientid);
      if (this.#offline.size > MAX_OFFLINE) {
        this.#remove(this.#offline.values().next().value ?? '');
        this.droppedSessions += 1;
      }
      this.#onChange(clientid);
    } else {
      this.#others.removed(entry);
      this.#remove(clientid);
    }
  }

  /** Only a connected client subscribes, so the line also proves that a logged end was not its own. */
  #subscriptionsChanged(clientid: string, line: SubscriptionsLine): void {
    this.#change(clientid, (entry) => {
      this.#subscriptions.apply(entry, line);
      if (line.others !== undefined) return;
      this.#uncertain.delete(entry);
      if (!entry.connected && !this.takeovers.isTaken(clientid)) this.#online(entry);
    });
  }

  #change(clientid: string, change: (entry: ClientEntry) => unknown): void {
    const entry = this.#entries.get(clientid);
    if (!entry) return;
    change(entry);
    this.#onChange(clientid);
  }

  #online(entry: ClientEntry): void {
    entry.connected = true;
    this.#offline.delete(entry.clientid);
    this.#onChange(entry.clientid);
  }

  #create(clientid: string): ClientEntry | null {
    if (this.#entries.size >= this.#maxClients) {
      this.overflowed = true;
      return null;
    }
    const entry = newEntry(clientid, this.#gateways.has(clientid));
    this.#entries.set(clientid, entry);
    this.#sorted = null;
    return entry;
  }

  #remove(clientid: string): void {
    const entry = this.#entries.get(clientid);
    if (!entry) return;
    this.#entries.delete(clientid);
    this.#uncertain.delete(entry);
    this.#accounts.remove(entry);
    this.#subscriptions.clear(entry);
    this.#offline.delete(clientid);
    this.#sorted = null;
    this.#onChange(clientid);
  }
}

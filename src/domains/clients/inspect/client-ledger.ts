import { AccountIndex, type AccountUse } from './account-index.ts';
import { AdministrativeDisconnects } from './administrative-disconnects.ts';
import { type ClientEntry, detailOf, newEntry, plainAddress, summaryOf, type UserName } from './client-entry.ts';
import type {
  ClientProtocol,
  ClientProtocolVersion,
  ConnectedClientDetail,
  ConnectedClientSummary,
} from './inspect-data.ts';
import {
  BY_ADMINISTRATOR,
  CLOSED_BY_CLIENT,
  type ConnectedLine,
  type DisconnectedLine,
  type LogLine,
  TAKEN_OVER,
} from './log-lines.ts';
import { TakeoverLines } from './takeover-lines.ts';

interface ClientLedgerOptions {
  /** Maximum number of clients. Default: 200,000. Further clients are not stored, and `overflowed` is true. */
  readonly maxClients?: number;
  /** Maximum number of offline persistent sessions. Default: 20,000. The session that went offline first is dropped. */
  readonly maxOffline?: number;
  /**
   * Maximum memory for the subscriptions of all clients: SUBSCRIPTION_BYTES and the length of the filter for each.
   * Default: 128 MiB. Further subscriptions are not stored, and the subscriptions of the client count as incomplete.
   */
  readonly maxSubscriptionBytes?: number;
  /** Called with the id of each client that was added, changed or removed. */
  readonly onChange: (clientid: string) => void;
}

/** A connection of this service, as the link describes it. */
interface GatewayConnection {
  /** `undefined` if the link does not report it. */
  readonly username: UserName | undefined;
  readonly protocol: ClientProtocol | null;
  readonly protocolVersion: ClientProtocolVersion | null;
  /** Seconds. */
  readonly keepalive: number | null;
  /** Epoch milliseconds. */
  readonly lastConnect: number;
}

/** Connections without a CONNECT packet yet; the oldest is dropped. */
const MAX_OPENED = 10_000;
/** Per client. */
const MAX_SUBSCRIPTIONS = 1_000;
/** Memory of a stored subscription without its filter. */
const SUBSCRIPTION_BYTES = 100;

/** The clients of one broker according to its log. Has no connection and no timers. */
export class ClientLedger {
  readonly #maxClients: number;
  readonly #maxOffline: number;
  readonly #maxSubscriptionBytes: number;
  readonly #onChange: (clientid: string) => void;
  readonly #entries = new Map<string, ClientEntry>();
  /** Ids of offline persistent sessions; the session that went offline first is first. */
  readonly #offline = new Set<string>();
  /** Listener ports of connections, by address and port of the client. */
  readonly #opened = new Map<string, number>();
  /** Ids of this service's own connections. */
  readonly #gateways = new Set<string>();
  readonly #accounts = new AccountIndex();
  readonly #takeovers = new TakeoverLines();
  readonly #kicks = new AdministrativeDisconnects();
  #subscriptionBytes = 0;
  #connections = 0;
  #sorted: ClientEntry[] | null = null;
  #overflowed = false;
  /** `null` before the version is known. */
  #isVersion20: boolean | null = null;
  /** Whether the broker logs subscriptions. */
  subscriptionsFollowed = false;

  constructor({
    maxClients = 200_000,
    maxOffline = 20_000,
    maxSubscriptionBytes = 128 * 1024 * 1024,
    onChange,
  }: ClientLedgerOptions) {
    this.#maxClients = maxClients;
    this.#maxOffline = maxOffline;
    this.#maxSubscriptionBytes = maxSubscriptionBytes;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Includes this service's connections to sessions that it takes over. */
  get connectedCount(): number {
    return this.#entries.size - this.#offline.size + this.#takeovers.ownCount;
  }

  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** May be set after the first clients were added. */
  set version(text: string) {
    const wasKnown = this.#isVersion20 !== null;
    this.#isVersion20 = /\b2\.0\./.test(text);
    if (wasKnown || !this.#isVersion20) return;
    for (const entry of this.#entries.values()) {
      if (entry.protocol !== null || entry.protocolOf20 === null) continue;
      entry.protocol = entry.protocolOf20;
      this.#onChange(entry.clientid);
    }
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
    return entry ? detailOf(entry, this.subscriptionsFollowed) : null;
  }

  accountOf(clientid: string): AccountUse | null {
    const entry = this.#entries.get(clientid);
    if (!entry) return null;
    return this.#accounts.useOf(
      entry,
      [...this.#gateways].map((id) => this.#entries.get(id)?.account),
    );
  }

  /** Number of connections that an administrator has ended. */
  get kickCount(): number {
    return this.#kicks.count;
  }

  /** Ids of the account's clients that an administrator has disconnected since `kickCount` was `count`. */
  kickedSince(count: number, username: UserName): readonly string[] {
    return this.#kicks.after(count, username);
  }

  /** Whether this connection of the client has ended, and the takeover of its session, too. */
  hasEnded(clientid: string, connection: number): boolean {
    if (this.#takeovers.isTaken(clientid)) return false;
    const entry = this.#entries.get(clientid);
    return !entry?.connected || entry.connection !== connection;
  }

  /** Call before this service takes over the session. */
  beginTakeover(clientid: string): void {
    this.#takeovers.begin(clientid);
  }

  /** Call after the takeover, whether or not it succeeded. */
  endTakeover(clientid: string): void {
    this.#takeovers.cancel(clientid);
  }

  /** In order of client ids. */
  page(offset: number, count: number): ConnectedClientSummary[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
    return this.#sorted.slice(offset, count < 0 ? undefined : offset + count).map(summaryOf);
  }

  ids(offset: number, count: number): string[] {
    return this.page(offset, count).map(({ clientid }) => clientid);
  }

  /**
   * @param now when the line arrived, epoch milliseconds
   * @returns change of the number of unknown connections
   */
  apply(line: LogLine, now: number): -1 | 0 | 1 {
    // The log has seconds only. The arrival time is more exact, unless the line was delayed.
    const at = line.at === null || Math.abs(now - line.at) < 2_000 ? now : line.at;
    const known = 'clientid' in line && this.#entries.has(line.clientid);
    switch (line.kind) {
      case 'OPENED':
        this.#open(line.address, line.port, line.listenerPort);
        break;
      case 'CONNECTED':
        if (this.#takeovers.isOwnConnect(line)) this.#disconnect(replaced(line), at);
        else if (!this.#connect(line, at)) return 1;
        break;
      case 'CONNECTED_UNREAD':
        return 1;
      case 'DISCONNECTED':
        if (this.#takeovers.isOwnDisconnect(line) || this.#takeovers.isLateDisconnect(line)) break;
        this.#disconnect(line, at);
        return !known && REASONS_AFTER_CONNECT.has(line.reason) ? -1 : 0;
      case 'EXPIRED':
        if (this.#offline.has(line.clientid)) this.#remove(line.clientid);
        break;
      case 'TLS':
        this.#change(line.clientid, (entry) => {
          entry.tls = { version: line.version, ciphers: line.cipher };
        });
        break;
      case 'SUBSCRIBED':
        this.#change(line.clientid, (entry) => this.#subscribe(entry, line.filter, line.qos));
        break;
      case 'UNSUBSCRIBED':
        this.#change(line.clientid, (entry) => this.#unsubscribe(entry, line.filter));
        break;
    }
    return 0;
  }

  /** Adds a connection of this service that exists since before the log was followed. */
  addGateway(clientid: string, { username, ...known }: GatewayConnection): void {
    this.#gateways.add(clientid);
    const entry = this.#entries.get(clientid) ?? this.#create(clientid);
    if (!entry) return;
    if (username !== undefined) this.#accounts.move(entry, username);
    Object.assign(entry, known);
    this.#online(entry);
    this.#onChange(clientid);
  }

  /** Takes user name and address of a connection of this service from the log line of its second connection. */
  describeGateway(clientid: string, { username, address }: ConnectedLine): void {
    this.#change(clientid, (entry) => {
      this.#accounts.move(entry, username);
      entry.address = plainAddress(address);
    });
  }

  clear(): void {
    for (const clientid of this.#entries.keys()) this.#onChange(clientid);
    this.#entries.clear();
    this.#offline.clear();
    this.#opened.clear();
    this.#accounts.clear();
    this.#takeovers.clear();
    this.#subscriptionBytes = 0;
    this.#sorted = null;
    this.#overflowed = false;
  }

  /** Number of the last connection that was logged. */
  get lastConnection(): number {
    return this.#connections;
  }

  /** Removes this connection and earlier ones: the broker restarted after it, which logs no disconnects. */
  removeUntil(connection: number): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.connected && !entry.gateway && entry.connection <= connection) this.#remove(entry.clientid);
    }
  }

  #open(address: string, port: number, listenerPort: number): void {
    if (this.#opened.size >= MAX_OPENED) this.#opened.delete(this.#opened.keys().next().value ?? '');
    this.#opened.set(`${address}:${port}`, listenerPort);
  }

  /** `false` if `maxClients` is reached. */
  #connect(line: ConnectedLine, at: number): boolean {
    const entry = this.#entries.get(line.clientid) ?? this.#create(line.clientid);
    if (!entry) return false;
    // The end of the replaced connection is logged as an error only, and the end of a WebSocket after this line.
    if (entry.connected && entry.lastConnect !== null) this.#takeovers.replaced(entry);
    const { clean: wasClean, lastConnect } = entry;
    const key = `${line.address}:${line.port}`;
    const listenerPort = this.#opened.get(key) ?? null;
    this.#opened.delete(key);
    this.#accounts.move(entry, line.username);
    entry.isAmbiguous = line.isAmbiguous;
    entry.connection = ++this.#connections;
    entry.address = plainAddress(line.address);
    entry.port = line.port;
    entry.protocolOf20 = protocolOf20(line.address, listenerPort);
    if (!entry.gateway) entry.protocol = this.#isVersion20 ? entry.protocolOf20 : null;
    entry.protocolVersion = line.protocolVersion;
    entry.bridge = line.bridge;
    entry.keepalive = line.keepalive;
    entry.listenerPort = listenerPort;
    entry.tls = null;
    entry.lastConnect = at;
    // A clean session ends with its connection. An MQTT 5 session with Clean Start may persist.
    if (line.clean || (wasClean === true && line.protocolVersion !== 'v5')) {
      this.#clearSubscriptions(entry);
      entry.subscriptionsComplete = true;
    } else if (lastConnect === null || wasClean === true) {
      // The session may be older than the followed log.
      entry.subscriptionsComplete = false;
    }
    entry.clean = line.clean;
    this.#online(entry);
    this.#onChange(entry.clientid);
    return true;
  }

  #disconnect({ clientid, port, reason }: DisconnectedLine, at: number): void {
    const entry = this.#entries.get(clientid);
    if (!entry?.connected) return;
    // The line is about an earlier connection of this client id.
    if (port !== null && entry.port !== null && port !== entry.port) return;
    if (reason === TAKEN_OVER) this.#takeovers.replaced(entry);
    if (reason === BY_ADMINISTRATOR && entry.account !== undefined) this.#kicks.add(entry.account, clientid);
    entry.connected = false;
    entry.lastDisconnect = at;
    entry.disconnectReason = reason;
    if (entry.clean === false) {
      this.#offline.add(clientid);
      if (this.#offline.size > this.#maxOffline) this.#remove(this.#offline.values().next().value ?? '');
      this.#onChange(clientid);
    } else {
      this.#remove(clientid);
    }
  }

  #subscribe(entry: ClientEntry, filter: string | null, qos: number): void {
    if (filter === null) {
      entry.subscriptionsComplete = false;
      return;
    }
    if (!entry.subscriptions.has(filter)) {
      const isFull =
        entry.subscriptions.size >= MAX_SUBSCRIPTIONS ||
        this.#subscriptionBytes + cost(filter) > this.#maxSubscriptionBytes;
      if (isFull) {
        entry.subscriptionsComplete = false;
        return;
      }
      this.#subscriptionBytes += cost(filter);
    }
    entry.subscriptions.set(filter, qos);
  }

  #unsubscribe(entry: ClientEntry, filter: string | null): void {
    if (filter === null) entry.subscriptionsComplete = false;
    else if (entry.subscriptions.delete(filter)) this.#subscriptionBytes -= cost(filter);
  }

  #clearSubscriptions({ subscriptions }: ClientEntry): void {
    for (const filter of subscriptions.keys()) this.#subscriptionBytes -= cost(filter);
    subscriptions.clear();
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
  }

  #create(clientid: string): ClientEntry | null {
    if (this.#entries.size >= this.#maxClients) {
      this.#overflowed = true;
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
    this.#accounts.remove(entry);
    this.#clearSubscriptions(entry);
    this.#offline.delete(clientid);
    this.#sorted = null;
    this.#onChange(clientid);
  }
}

/** 2.0.x logs the listener of TCP connections only, and WebSocket addresses as mapped IPv6. */
function protocolOf20(address: string, listenerPort: number | null): ClientProtocol | null {
  if (listenerPort !== null) return 'MQTT';
  return address.startsWith('::ffff:') ? 'MQTT-WS' : null;
}

/** Disconnect reasons of connections whose connect was logged. Others may be of a refused connection. */
const REASONS_AFTER_CONNECT: ReadonlySet<string> = new Set([
  'disconnected',
  CLOSED_BY_CLIENT,
  TAKEN_OVER,
  'exceeded timeout',
  BY_ADMINISTRATOR,
]);

const replaced = ({ clientid, at }: ConnectedLine & { readonly at: number | null }) =>
  ({ kind: 'DISCONNECTED', at, clientid, port: null, reason: TAKEN_OVER }) as const;

const cost = (filter: string): number => filter.length + SUBSCRIPTION_BYTES;

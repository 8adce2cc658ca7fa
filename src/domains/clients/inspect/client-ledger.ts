import { AccountIndex, type AccountUse } from './account-index.ts';
import { type ClientEntry, detailOf, newEntry, plainAddress, summaryOf, type UserName } from './client-entry.ts';
import { EndedByAdministrator } from './ended-by-administrator.ts';
import { Handovers } from './handovers.ts';
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

/**
 * The clients of one broker, kept by what its log tells. Holds no connection and no time of its own.
 *
 * Bounds: `maxClients` entries, further clients are not taken up and `overflowed` says so; `maxOffline` persistent sessions that
 * are offline, the one that went first is dropped; MAX_OPENED connections that have not said who they are, oldest dropped;
 * MAX_SUBSCRIPTIONS per client and `maxSubscriptionBytes` of all clients together (the length of each filter and
 * SUBSCRIPTION_BYTES), further ones are not kept and the client's list counts as incomplete.
 */
export interface ClientLedgerOptions {
  /** Default 200,000. */
  readonly maxClients?: number;
  /** Default 20,000. */
  readonly maxOffline?: number;
  /** Default 128 MiB. */
  readonly maxSubscriptionBytes?: number;
  /** Called with the id of each client that came, changed or went. */
  readonly onChange: (clientid: string) => void;
}

/** What this service knows of a connection of its own. */
export interface GatewayConnection {
  /** Undefined: the link does not say. */
  readonly username: UserName | undefined;
  readonly protocol: ClientProtocol | null;
  readonly protocolVersion: ClientProtocolVersion | null;
  /** Seconds. */
  readonly keepalive: number | null;
  /** Epoch milliseconds. */
  readonly lastConnect: number;
}

const MAX_OPENED = 10_000;
const MAX_SUBSCRIPTIONS = 1_000;
/** What a kept subscription costs beside the characters of its filter. */
const SUBSCRIPTION_BYTES = 100;

export class ClientLedger {
  readonly #maxClients: number;
  readonly #maxOffline: number;
  readonly #maxSubscriptionBytes: number;
  readonly #onChange: (clientid: string) => void;
  readonly #entries = new Map<string, ClientEntry>();
  /** Ids of persistent sessions that are offline, the one that went first ahead. */
  readonly #offline = new Set<string>();
  /** Listener ports of connections, by address and port of the client. */
  readonly #opened = new Map<string, number>();
  /** Ids of this service's own connections. */
  readonly #gateways = new Set<string>();
  readonly #accounts = new AccountIndex();
  readonly #handovers = new Handovers();
  readonly #kicks = new EndedByAdministrator();
  #subscriptionBytes = 0;
  #connections = 0;
  #sorted: ClientEntry[] | null = null;
  #overflowed = false;
  /** Whether lines tell the listener of plain connections; WebSocket ones have none in 2.0.x. */
  #isVersion20: boolean | null = null;
  /** Whether lines of subscriptions arrive at all. */
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

  /** With our own connections to sessions that we took over. */
  get connectedCount(): number {
    return this.#entries.size - this.#offline.size + this.#handovers.heldCount;
  }

  get overflowed(): boolean {
    return this.#overflowed;
  }

  /** May be told after the first clients. */
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

  /** Connections that an administrator has ended so far. */
  get kickCount(): number {
    return this.#kicks.count;
  }

  /** Clients of the account that an administrator has disconnected since `kickCount` was this number. */
  kickedSince(count: number, username: UserName): readonly string[] {
    return this.#kicks.after(count, username);
  }

  /** This connection of the client is over, and so is ours to its session. */
  hasEnded(clientid: string, connection: number): boolean {
    if (this.#handovers.isBorrowed(clientid)) return false;
    const entry = this.#entries.get(clientid);
    return !entry?.connected || entry.connection !== connection;
  }

  /** We are about to take the session over for a moment, which says nothing of the client but that it loses its connection. */
  borrow(clientid: string): void {
    this.#handovers.borrow(clientid);
  }

  /** We did not take it over, after all. */
  giveBack(clientid: string): void {
    this.#handovers.giveBack(clientid);
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
   * @returns by how many the connections that are not known have become more
   */
  apply(line: LogLine, now: number): -1 | 0 | 1 {
    // The log counts in seconds; a line that was not held up happened just now.
    const at = line.at === null || Math.abs(now - line.at) < 2_000 ? now : line.at;
    const known = 'clientid' in line && this.#entries.has(line.clientid);
    switch (line.kind) {
      case 'OPENED':
        this.#open(line.address, line.port, line.listenerPort);
        break;
      case 'CONNECTED':
        if (this.#handovers.isOurs(line)) this.#disconnect(replaced(line), at);
        else if (!this.#connect(line, at)) return 1;
        break;
      case 'CONNECTED_UNREAD':
        return 1;
      case 'DISCONNECTED':
        if (this.#handovers.isOurEnd(line) || this.#handovers.isLate(line)) break;
        this.#disconnect(line, at);
        return !known && ENDS_OF_CONNECTED.has(line.reason) ? -1 : 0;
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

  /** A connection of this service, which came before its log could be followed. */
  addGateway(clientid: string, { username, ...known }: GatewayConnection): void {
    this.#gateways.add(clientid);
    const entry = this.#entries.get(clientid) ?? this.#create(clientid);
    if (!entry) return;
    if (username !== undefined) this.#accounts.move(entry, username);
    Object.assign(entry, known);
    this.#online(entry);
    this.#onChange(clientid);
  }

  /** A second connection of this service told what the log says of the first one, too. */
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
    this.#handovers.clear();
    this.#subscriptionBytes = 0;
    this.#sorted = null;
    this.#overflowed = false;
  }

  /** Number of the last connection that was told. */
  get lastConnection(): number {
    return this.#connections;
  }

  /** The broker was started anew after this connection, so it and those before it are gone without a word. */
  forgetUntil(connection: number): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.connected && !entry.gateway && entry.connection <= connection) this.#remove(entry.clientid);
    }
  }

  #open(address: string, port: number, listenerPort: number): void {
    if (this.#opened.size >= MAX_OPENED) this.#opened.delete(this.#opened.keys().next().value ?? '');
    this.#opened.set(`${address}:${port}`, listenerPort);
  }

  /** False: there is no room for another one. */
  #connect(line: ConnectedLine, at: number): boolean {
    const entry = this.#entries.get(line.clientid) ?? this.#create(line.clientid);
    if (!entry) return false;
    // Its end is told to nobody but those who read errors, and that of a WebSocket after this line.
    if (entry.connected && entry.lastConnect !== null) this.#handovers.replaced(entry);
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
    // A clean session ended with its connection, but MQTT 5 can start clean and keep the session then.
    if (line.clean || (wasClean === true && line.protocolVersion !== 'v5')) {
      this.#forgetSubscriptions(entry);
      entry.subscriptionsComplete = true;
    } else if (lastConnect === null || wasClean === true) {
      // The session may be older than we are.
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
    // The end of a connection that another one of the same id has replaced.
    if (port !== null && entry.port !== null && port !== entry.port) return;
    if (reason === TAKEN_OVER) this.#handovers.replaced(entry);
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

  #forgetSubscriptions({ subscriptions }: ClientEntry): void {
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
    this.#forgetSubscriptions(entry);
    this.#offline.delete(clientid);
    this.#sorted = null;
    this.#onChange(clientid);
  }
}

/** 2.0.x announces plain connections only, and writes WebSocket addresses as mapped IPv6; 2.1 does not tell them apart. */
function protocolOf20(address: string, listenerPort: number | null): ClientProtocol | null {
  if (listenerPort !== null) return 'MQTT';
  return address.startsWith('::ffff:') ? 'MQTT-WS' : null;
}

/** Ends of connections whose beginning was told; others may be of a connection that never came to be. */
const ENDS_OF_CONNECTED: ReadonlySet<string> = new Set([
  'disconnected',
  CLOSED_BY_CLIENT,
  TAKEN_OVER,
  'exceeded timeout',
  BY_ADMINISTRATOR,
]);

const replaced = ({ clientid, at }: ConnectedLine & { readonly at: number | null }) =>
  ({ kind: 'DISCONNECTED', at, clientid, port: null, reason: TAKEN_OVER }) as const;

const cost = (filter: string): number => filter.length + SUBSCRIPTION_BYTES;

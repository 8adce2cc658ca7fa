import {
  ANONYMOUS,
  type ClientProtocol,
  type ClientProtocolVersion,
  type ConnectedClientDetail,
  type ConnectedClientSummary,
} from './inspect-control.ts';
import type { ConnectedLine, DisconnectedLine, LogLine } from './log-lines.ts';

/**
 * The clients of one broker, kept by what its log tells. Holds no connection and no time of its own.
 *
 * Bounds: `maxClients` entries, further clients are not taken up and `overflowed` says so; `maxOffline` persistent sessions that
 * are offline, the one that went first is dropped; MAX_OPENED connections that have not said who they are, oldest dropped;
 * MAX_SUBSCRIPTIONS per client, further ones are not kept and the list counts as incomplete.
 */
export interface ClientLedgerOptions {
  /** Default 200,000. */
  readonly maxClients?: number;
  /** Default 20,000. */
  readonly maxOffline?: number;
  /** Called with the id of each client that came, changed or went. */
  readonly onChange: (clientid: string) => void;
}

const MAX_OPENED = 10_000;
const MAX_SUBSCRIPTIONS = 1_000;

interface Entry {
  readonly clientid: string;
  username: string;
  address: string | null;
  port: number | null;
  protocol: ClientProtocol | null;
  protocolVersion: ClientProtocolVersion | null;
  bridge: boolean;
  readonly gateway: boolean;
  clean: boolean | null;
  keepalive: number | null;
  connected: boolean;
  lastConnect: number | null;
  lastDisconnect: number | null;
  disconnectReason: string | null;
  listenerPort: number | null;
  tls: { readonly version: string; readonly ciphers: string } | null;
  /** Filter to granted QoS. */
  readonly subscriptions: Map<string, number>;
  /** Every subscription of the session was seen. */
  subscriptionsComplete: boolean;
}

export class ClientLedger {
  readonly #maxClients: number;
  readonly #maxOffline: number;
  readonly #onChange: (clientid: string) => void;
  readonly #entries = new Map<string, Entry>();
  /** Ids of persistent sessions that are offline, the one that went first ahead. */
  readonly #offline = new Set<string>();
  /** Listener ports of connections, by address and port of the client. */
  readonly #opened = new Map<string, number>();
  /** Ids of this service's own connections. */
  readonly #gateways = new Set<string>();
  #sorted: Entry[] | null = null;
  #overflowed = false;
  /** Whether lines tell the listener of plain connections; WebSocket ones have none in 2.0.x. */
  #isVersion20: boolean | null = null;
  /** Whether lines of subscriptions arrive at all. */
  subscriptionsFollowed = false;

  constructor({ maxClients = 200_000, maxOffline = 20_000, onChange }: ClientLedgerOptions) {
    this.#maxClients = maxClients;
    this.#maxOffline = maxOffline;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#entries.size;
  }

  get connectedCount(): number {
    return this.#entries.size - this.#offline.size;
  }

  get overflowed(): boolean {
    return this.#overflowed;
  }

  set version(text: string) {
    this.#isVersion20 = /\b2\.0\./.test(text);
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

  /** In order of client ids. */
  page(offset: number, count: number): ConnectedClientSummary[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
    return this.#sorted.slice(offset, count < 0 ? undefined : offset + count).map(summaryOf);
  }

  ids(offset: number, count: number): string[] {
    return this.page(offset, count).map(({ clientid }) => clientid);
  }

  /** @param now when the line arrived, epoch milliseconds */
  apply(line: LogLine, now: number): void {
    // The log counts in seconds; a line that was not held up happened just now.
    const at = line.at === null || Math.abs(now - line.at) < 2_000 ? now : line.at;
    switch (line.kind) {
      case 'OPENED':
        this.#open(line.address, line.port, line.listenerPort);
        break;
      case 'CONNECTED':
        this.#connect(line, at);
        break;
      case 'DISCONNECTED':
        this.#disconnect(line, at);
        break;
      case 'TLS':
        this.#change(line.clientid, (entry) => {
          entry.tls = { version: line.version, ciphers: line.cipher };
        });
        break;
      case 'SUBSCRIBED':
        this.#change(line.clientid, (entry) => {
          if (entry.subscriptions.size < MAX_SUBSCRIPTIONS) entry.subscriptions.set(line.filter, line.qos);
          else entry.subscriptionsComplete &&= entry.subscriptions.has(line.filter);
        });
        break;
      case 'UNSUBSCRIBED':
        this.#change(line.clientid, (entry) => entry.subscriptions.delete(line.filter));
        break;
    }
  }

  /** A connection of this service, which came before its log could be followed. */
  addGateway(clientid: string, protocolVersion: ClientProtocolVersion | null, since: number): void {
    this.#gateways.add(clientid);
    const entry = this.#entries.get(clientid) ?? this.#create(clientid);
    if (!entry) return;
    entry.protocolVersion = protocolVersion;
    entry.lastConnect = since;
    this.#online(entry);
    this.#onChange(clientid);
  }

  /** A second connection of this service told what the log says of the first one, too. */
  describeGateway(clientid: string, { username, address }: ConnectedLine): void {
    this.#change(clientid, (entry) => {
      entry.username = username ?? ANONYMOUS;
      entry.address = plainAddress(address);
    });
  }

  clear(): void {
    for (const clientid of this.#entries.keys()) this.#onChange(clientid);
    this.#entries.clear();
    this.#offline.clear();
    this.#opened.clear();
    this.#sorted = null;
    this.#overflowed = false;
  }

  /** The broker started at this time, so connections that are older are gone without a word. */
  forgetBefore(startedAt: number): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.connected && !entry.gateway && (entry.lastConnect ?? 0) < startedAt) this.#remove(entry.clientid);
    }
  }

  #open(address: string, port: number, listenerPort: number): void {
    if (this.#opened.size >= MAX_OPENED) this.#opened.delete(this.#opened.keys().next().value ?? '');
    this.#opened.set(`${address}:${port}`, listenerPort);
  }

  #connect(line: ConnectedLine, at: number): void {
    const entry = this.#entries.get(line.clientid) ?? this.#create(line.clientid);
    if (!entry) return;
    const isNew = entry.lastConnect === null;
    const key = `${line.address}:${line.port}`;
    const listenerPort = this.#opened.get(key) ?? null;
    this.#opened.delete(key);
    entry.username = line.username ?? ANONYMOUS;
    entry.address = plainAddress(line.address);
    entry.port = line.port;
    entry.protocol = this.#protocolOf(line.address, listenerPort);
    entry.protocolVersion = line.protocolVersion;
    entry.bridge = line.bridge;
    entry.keepalive = line.keepalive;
    entry.listenerPort = listenerPort;
    entry.tls = null;
    entry.lastConnect = at;
    if (line.clean) {
      entry.subscriptions.clear();
      entry.subscriptionsComplete = true;
    } else if (isNew) {
      // The session may be older than we are.
      entry.subscriptionsComplete = false;
    }
    entry.clean = line.clean;
    this.#online(entry);
    this.#onChange(entry.clientid);
  }

  #disconnect({ clientid, port, reason }: DisconnectedLine, at: number): void {
    const entry = this.#entries.get(clientid);
    if (!entry?.connected) return;
    // The end of a connection that another one of the same id has replaced.
    if (port !== null && entry.port !== null && port !== entry.port) return;
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

  #change(clientid: string, change: (entry: Entry) => unknown): void {
    const entry = this.#entries.get(clientid);
    if (!entry) return;
    change(entry);
    this.#onChange(clientid);
  }

  #online(entry: Entry): void {
    entry.connected = true;
    this.#offline.delete(entry.clientid);
  }

  #create(clientid: string): Entry | null {
    if (this.#entries.size >= this.#maxClients) {
      this.#overflowed = true;
      return null;
    }
    const entry: Entry = {
      clientid,
      username: ANONYMOUS,
      address: null,
      port: null,
      protocol: null,
      protocolVersion: null,
      bridge: false,
      gateway: this.#gateways.has(clientid),
      clean: null,
      keepalive: null,
      connected: true,
      lastConnect: null,
      lastDisconnect: null,
      disconnectReason: null,
      listenerPort: null,
      tls: null,
      subscriptions: new Map(),
      subscriptionsComplete: false,
    };
    this.#entries.set(clientid, entry);
    this.#sorted = null;
    return entry;
  }

  #remove(clientid: string): void {
    if (!this.#entries.delete(clientid)) return;
    this.#offline.delete(clientid);
    this.#sorted = null;
    this.#onChange(clientid);
  }

  /** 2.0.x announces plain connections only, and writes WebSocket addresses as mapped IPv6; 2.1 does not tell them apart. */
  #protocolOf(address: string, listenerPort: number | null): ClientProtocol | null {
    if (this.#isVersion20 !== true) return null;
    if (listenerPort !== null) return 'MQTT';
    return address.startsWith('::ffff:') ? 'MQTT-WS' : null;
  }
}

const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d)/, '').replace(/^\[(.*)\]$/, '$1');

function summaryOf(entry: Entry): ConnectedClientSummary {
  const { clientid, username, address, port, protocol, protocolVersion, lastConnect } = entry;
  return {
    clientid,
    username,
    connected: entry.connected,
    lastDisconnect: entry.lastDisconnect,
    ...(address === null ? {} : { address }),
    ...(port === null ? {} : { remotePort: port }),
    ...(protocol === null ? {} : { protocol }),
    ...(protocolVersion === null ? {} : { protocolVersion }),
    ...(lastConnect === null ? {} : { lastConnect }),
    ...(entry.bridge ? { bridge: true } : {}),
    ...(entry.gateway ? { gateway: true } : {}),
    ...(entry.disconnectReason === null ? {} : { disconnectReason: entry.disconnectReason }),
  };
}

/** Subscriptions that were seen are listed in any case; their number is told only when all were seen. */
function detailOf(entry: Entry, subscriptionsFollowed: boolean): ConnectedClientDetail {
  const { keepalive, clean, listenerPort, tls, subscriptions } = entry;
  return {
    ...summaryOf(entry),
    ...(keepalive === null ? {} : { keepalive }),
    ...(clean === null ? {} : { cleanSession: clean }),
    ...(listenerPort === null ? {} : { listener: { port: listenerPort } }),
    ...(tls === null ? {} : { tls }),
    ...(subscriptionsFollowed
      ? { subscriptions: [...subscriptions.keys()], subscriptionQos: [...subscriptions.values()] }
      : {}),
    ...(subscriptionsFollowed && entry.subscriptionsComplete ? { numSubscriptions: subscriptions.size } : {}),
  };
}

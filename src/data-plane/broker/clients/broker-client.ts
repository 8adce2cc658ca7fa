import { type Duplex, PassThrough } from 'node:stream';
import { Aedes, type Client } from 'aedes';
import type { IncomingPacket } from '../packets/mqtt-packet-internals.ts';

/** What aedes and `BrokerClient` use of a parser. */
export interface ClientParser {
  /** Packets that aedes handles when CONNACK was sent. */
  _queue: IncomingPacket[] | null;
  /** Parses what the stream has. */
  read(): void;
  /** Reads on in this iteration of the event loop. */
  readOn(): void;
  /** Called when the stream has emitted `close`, before the client is closed. */
  ended(): void;
}

type Continue = (error?: Error | null) => void;

/** Members of aedes 2.0.0-beta.1 that its types do not declare. A test compares this client with that of aedes. */
interface BrokerInternals {
  readonly clients: Readonly<Record<string, object>>;
  readonly id: string;
  readonly persistence: { delWill(client: object): PromiseLike<unknown> };
  publishWill(client: object, will: object): void;
  unregisterClient(client: object): void;
  scheduleSessionExpiry(client: object): void;
}

type Listeners = { listeners(event: string): ((...values: unknown[]) => void)[] };

/** A client of aedes, for its methods and listeners. */
function originalOf() {
  const client = new Aedes().handle(new PassThrough()) as object as Client &
    Listeners & { readonly _parser: Listeners };
  const [handle] = client._parser.listeners('packet');
  const [dequeue] = client.listeners('connected');
  client.close();
  return { prototype: Object.getPrototypeOf(client) as object, handle, dequeue };
}

const original = originalOf();

const Original = function Original() {} as unknown as new () => Pick<Client, 'disconnect'> & {
  pause(): void;
  resume(): void;
  _onError(error: Error): void;
  waitForDrain(done: Continue): void;
};
Original.prototype = original.prototype;

/**
 * A client of aedes 2.0.0-beta.1 without what its constructor creates for each connection: a parser with events,
 * timers, listeners of the end of the stream, and functions that deliver messages. Its prototype has the fields that
 * aedes sets for an MQTT 3.1.1 client with a clean session and without a will; `handleConnect` relies on it.
 */
export class BrokerClient extends Original {
  declare readonly version: number;
  declare clean: boolean;
  declare sessionExpiryInterval: number;
  declare errored: boolean;
  declare will: object | null | undefined;
  declare _will: object | null | undefined;
  declare _rejectingPacketTooLarge: boolean;
  declare _drainTimer: NodeJS.Timeout | null;
  declare _onDrainBound: (() => void) | undefined;
  declare _pendingDrains: ((error: Error, client: object) => void)[];
  id = '';
  readonly broker: Aedes;
  readonly conn: Duplex;
  readonly _parser: ClientParser;
  /** Reads on. aedes calls it when it has handled a packet. */
  readonly _nextBatch: Continue;
  closed = false;
  connecting = false;
  connected = false;
  connackSent = false;
  _authorized = false;
  _disconnected = false;
  _paused = false;
  _parsingBatch = 1;
  _nextId = Math.ceil(Math.random() * 65_535);

  constructor(broker: Aedes, conn: Duplex, createParser: (client: BrokerClient) => ClientParser) {
    super();
    this.broker = broker;
    this.conn = conn;
    this._parser = createParser(this);
    this._nextBatch = nextBatch.bind(this);
    Object.assign(conn, { client: this });
    conn.setMaxListeners(0);
    conn.on('readable', onReadable);
    conn.on('error', onError);
    conn.on('end', onEnd);
    conn.on('close', onClose);
  }

  /** Passes a packet to aedes. It handles those behind CONNECT when CONNACK was sent. */
  handle(packet: IncomingPacket): void {
    original.handle?.call(this._parser, packet);
  }

  /** The events that aedes emits. */
  emit(event: 'connected' | 'error', error?: Error): void {
    if (event === 'connected') original.dequeue?.call(this);
    else if (error) this._onError(error);
  }

  override waitForDrain(done: Continue): void {
    if (this._pendingDrains === NO_DRAINS) this._pendingDrains = [];
    super.waitForDrain(done);
  }

  close(done?: () => void): void {
    if (!this.closed) this.#close();
    done?.();
  }

  #close(): void {
    this.closed = true;
    const { conn, id, will } = this;
    const broker = this.broker as unknown as BrokerInternals;
    this._parser._queue = null;
    this.#endDrain();
    // `_disconnected` is set if the client has sent DISCONNECT.
    if (will && !this._disconnected) broker.publishWill(this, will);
    else if (will) broker.persistence.delWill({ id, brokerId: broker.id }).then(ignore, ignore);
    this.will = null;
    this._will = null;
    this.connected = false;
    this.connecting = false;
    if (this._authorized && broker.clients[id]) {
      broker.unregisterClient(this);
      broker.scheduleSessionExpiry(this);
    }
    conn.destroy();
  }

  #endDrain(): void {
    if (this._pendingDrains.length === 0) return;
    if (this._drainTimer) clearTimeout(this._drainTimer);
    this._drainTimer = null;
    if (this._onDrainBound) this.conn.off('drain', this._onDrainBound);
    const error = new Error('connection closed');
    for (const pending of this._pendingDrains) setImmediate(pending, error, this);
    this._pendingDrains = NO_DRAINS;
  }
}

const NO_DRAINS: BrokerClient['_pendingDrains'] = [];
const NOTHING: object = Object.freeze(Object.create(null));
const ignore = (): void => {};

Object.assign(BrokerClient.prototype, {
  version: 4,
  _wireVersion: 4,
  _assignedClientId: undefined,
  _connectSessionExpiryInterval: 0,
  sessionExpiryInterval: 0,
  _sessionExpiryClamped: false,
  clean: true,
  _cleanStart: true,
  maximumPacketSize: undefined,
  receiveMaximum: 65_535,
  _requestProblemInformation: true,
  _requestResponseInformation: false,
  _will: undefined,
  will: undefined,
  errored: false,
  disconnectReasonCode: null,
  _rejectingPacketTooLarge: false,
  _drainTimer: null,
  _pendingDrains: NO_DRAINS,
  _connectTimer: null,
  /** `KeepAlive` limits the silence of clients. */
  _keepaliveInterval: -1,
  _keepaliveTimer: null,
  req: undefined,
  connDetails: null,
  /** aedes has no subscriptions, and delivers nothing. */
  subscriptions: NOTHING,
  duplicates: NOTHING,
});

/** MQTT 5: the topics of the aliases that the client sets. */
Object.defineProperty(BrokerClient.prototype, '_topicAliases', {
  get(this: BrokerClient) {
    const value = new Map<number, string>();
    Object.defineProperty(this, '_topicAliases', { value });
    return value;
  },
});

function nextBatch(this: BrokerClient, error?: Error | null): void {
  if (error) {
    this._onError(error);
    return;
  }
  if (this._paused || this._rejectingPacketTooLarge) return;
  this._parsingBatch -= 1;
  if (this._parsingBatch > 0) return;
  this._parsingBatch = 0;
  this._parser.read();
}

type ClientStream = Duplex & { readonly client: BrokerClient };

function onReadable(this: Duplex): void {
  const { client } = this as ClientStream;
  if (!client.closed) client._nextBatch();
}

function onError(this: Duplex, error: Error): void {
  const { client } = this as ClientStream;
  if (!client.closed) client._onError(error);
}

function onClose(this: Duplex): void {
  const { client } = this as ClientStream;
  client._parser.ended();
  client.close();
}

function onEnd(this: Duplex): void {
  (this as ClientStream).client.close();
}

import type { Aedes, Client, ConnectPacket } from 'aedes';
import { NOWHERE } from '../store/aedes-packets.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import type { IncomingPacket } from './mqtt-packet-internals.ts';

/** Members of aedes 2.0.0-beta.1 that its types do not declare. Only this file uses them, and a test checks each. */
interface BrokerInternals {
  readonly id: string;
  readonly closed: boolean;
  readonly persistence: { delWill(client: ClientRef): { finally(done: () => void): unknown } };
  publish(packet: { readonly topic: string }, ...more: unknown[]): void;
  preConnect(client: Client, packet: ConnectPacket, done: (error: Error | null, isAccepted: boolean) => void): void;
  authenticate(client: Client, username: unknown, password: unknown, done: Authenticated): void;
  registerClient(client: Client): void;
  emit(event: string, ...values: unknown[]): boolean;
}

type Authenticated = (error: { readonly returnCode?: number } | null, isAccepted: boolean | null) => void;

/** What aedes sets when a client connects. */
interface ClientInternals {
  id: string;
  version: number;
  closed: boolean;
  connecting: boolean;
  connected: boolean;
  connackSent: boolean;
  readonly conn: { write(bytes: Buffer): boolean };
  _connectTimer: NodeJS.Timeout | null;
  _keepaliveInterval: number;
  _keepaliveTimer: NodeJS.Timeout | null;
  _authorized: boolean;
  _disconnected: boolean;
  _parsingBatch: number;
  readonly _nextBatch: (error?: unknown) => void;
  pause(): void;
  resume(): void;
  close(done?: () => void): void;
  emit(event: string, error?: Error): boolean;
}

/** What aedes sets for each MQTT 3.1.1 client with a clean session and without a will. */
const CLEAN = {
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
  /** MQTT 5 only. */
  _topicAliases: undefined,
  _will: undefined,
  will: undefined,
};

const CONNACK = 0x20;
const ACCEPTED = connackOf(0);
const NOT_AUTHORIZED = 5;
/** [MQTT-3.1.2-24] Share of the Keep Alive after which the connection is closed. */
const KEEP_ALIVE_MS = 1_500;
const ignore = (): void => {};

/**
 * Handles CONNECT of an MQTT 3.1.1 client with a clean session and without a will, as aedes does. aedes would also read
 * the queue of the session through two streams, which costs more than everything else. Returns `false` for other
 * packets, which aedes must handle.
 */
export function handleConnect(aedes: Aedes, client: Client, packet: IncomingPacket): boolean {
  const internals = client as unknown as ClientInternals;
  if (!isSimpleConnect(packet) || internals.connecting || internals.connected) return false;
  const broker = aedes as unknown as BrokerInternals;
  const done = (error?: unknown) => {
    internals.connecting = false;
    internals._nextBatch(error);
  };
  internals._parsingBatch += 1;
  if (internals._connectTimer) clearTimeout(internals._connectTimer);
  internals._connectTimer = null;
  internals.connecting = true;
  broker.preConnect(client, packet, (error, isAccepted) => {
    if (error || !isAccepted) {
      done(error);
      return;
    }
    Object.assign(internals, CLEAN);
    internals.id = packet.clientId;
    internals.pause();
    broker.authenticate(client, packet.username, packet.password, (refusal, isAuthenticated) => {
      if (internals.closed || broker.closed) return;
      if (refusal || !isAuthenticated) {
        internals.conn.write(connackOf(refusal?.returnCode ?? NOT_AUTHORIZED));
        // aedes writes and closes in different iterations of the event loop.
        setImmediate(() => internals.close(() => done(refusal ?? new Error('not authorized'))));
        return;
      }
      accept(broker, client, packet.keepalive ?? 0);
      done();
    });
  });
  return true;
}

/**
 * Handles DISCONNECT of MQTT 3.1.1. aedes would only destroy the stream, and create an error for its end. Returns
 * `false` for other packets, which aedes must handle.
 */
export function handleDisconnect(client: Client, { cmd }: IncomingPacket): boolean {
  const internals = client as unknown as ClientInternals;
  if (cmd !== 'disconnect' || internals.version !== 4 || !internals.connected) return false;
  internals._disconnected = true;
  internals.close();
  return true;
}

function accept(broker: BrokerInternals, client: Client, keepalive: number): void {
  const internals = client as unknown as ClientInternals;
  internals._authorized = true;
  if (keepalive > 0) keepAlive(broker, client, keepalive);
  broker.persistence.delWill(client as ClientRef).finally(ignore);
  broker.registerClient(client);
  internals.conn.write(ACCEPTED);
  internals.connackSent = true;
  broker.emit('connackSent', { cmd: 'connack', sessionPresent: false, returnCode: 0 }, client);
  internals.resume();
  internals.connecting = false;
  if (internals.closed) return;
  internals.connected = true;
  broker.emit('clientReady', client);
  internals.emit('connected');
}

function keepAlive(broker: BrokerInternals, client: Client, seconds: number): void {
  const internals = client as unknown as ClientInternals;
  internals._keepaliveInterval = seconds * KEEP_ALIVE_MS + 1;
  internals._keepaliveTimer = setTimeout(() => {
    broker.emit('keepaliveTimeout', client);
    internals.emit('error', new Error('keep alive timeout'));
  }, internals._keepaliveInterval);
}

function isSimpleConnect(packet: IncomingPacket): packet is IncomingPacket & ConnectPacket {
  if (packet.cmd !== 'connect') return false;
  const { protocolVersion, clean, clientId, will } = packet as unknown as ConnectPacket;
  return protocolVersion === 4 && clean === true && clientId !== '' && will === undefined;
}

function connackOf(returnCode: number): Buffer {
  return Buffer.from([CONNACK, 2, 0, returnCode]);
}

/**
 * Drops what aedes publishes and no client gets: packets that were handled already, and its messages to other brokers
 * about clients and subscriptions. Its heartbeat stays, without which it would publish the wills of connected clients.
 */
export function dropUnseenMessages(aedes: Aedes): void {
  const broker = aedes as unknown as BrokerInternals;
  const publish = broker.publish;
  const own = `$SYS/${broker.id}/`;
  const dropped = ['new/clients', 'disconnect/clients', 'new/subscribes', 'new/unsubscribes'];
  const unseen = new Set([NOWHERE, ...dropped.map((topic) => own + topic)]);
  broker.publish = (packet, ...more) => {
    if (unseen.has(packet.topic)) (more.at(-1) as (() => void) | undefined)?.();
    else publish.call(broker, packet, ...more);
  };
}

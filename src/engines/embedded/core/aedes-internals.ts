import type { Aedes, Client } from 'aedes';
import type { PacketParser } from './mqtt-packet-internals.ts';

/** Members of aedes 2.0.0-beta.1 that its types do not declare. Only this file uses them, and a test checks each. */
interface BrokerInternals {
  maxTopicLevels: number;
  clients: object;
  brokers: object;
}

interface ClientInternals {
  clean: boolean;
  sessionExpiryInterval: number;
  connected: boolean;
  readonly connackSent: boolean;
  readonly waitForDrain: (done: Continue) => void;
  readonly _parser?: PacketParser;
  readonly _nextBatch: Continue;
  readonly _keepaliveInterval: number;
  readonly _keepaliveTimer: NodeJS.Timeout | null;
  readonly _eos: () => void;
  _nextId: number;
  _disconnected: boolean;
}

type Continue = (error?: Error | null) => void;

const brokerOf = (aedes: Aedes): BrokerInternals => aedes as unknown as BrokerInternals;
const internalsOf = (client: Client): ClientInternals => client as unknown as ClientInternals;

/** `maxTopicLevels`: aedes limits it to the 100 levels of mqemitter, which gets no message of this broker. */
export function setMaxTopicLevels(aedes: Aedes, levels: number): void {
  brokerOf(aedes).maxTopicLevels = levels;
}

/** `clients`, `brokers`: plain objects by id in aedes 2.0.0-beta.1 (GHSA-52qw-whmv-87c5, fixed in 1.2.0). */
export function useSafeBrokerTables(aedes: Aedes): void {
  const broker = brokerOf(aedes);
  broker.clients = Object.create(null);
  broker.brokers = Object.create(null);
}

/** `_nextId`: the packet id that aedes gives to the next message of QoS 1 or 2, from 1 to 65,535. */
export function takePacketId(client: Client): number {
  const internals = internalsOf(client);
  const packetId = internals._nextId;
  internals._nextId = packetId >= 65_535 ? 1 : packetId + 1;
  return packetId;
}

/** `_parser`: aedes parses with it what it reads from the stream. `null` if aedes has no such parser. */
export function parserOf(client: Client): PacketParser | null {
  const parser = internalsOf(client)._parser;
  return typeof parser?.parse === 'function' ? parser : null;
}

/** `connackSent`: aedes sets it when CONNACK was written. Packets that are parsed before are queued in memory. */
export const isConnackSent = (client: Client): boolean => internalsOf(client).connackSent;

/**
 * `_eos`: removes the eight listeners with which aedes learns that the stream is over. Call `client.close` when the
 * stream emits `close`.
 */
export function stopFollowingStream(client: Client): void {
  internalsOf(client)._eos();
}

/** `connected`: aedes sends DISCONNECT only if it is set. Sets it after CONNACK, not only after the queue was sent. */
export function allowDisconnectPacket(client: Client): void {
  const internals = internalsOf(client);
  if (internals.connackSent) internals.connected = true;
}

/** `_disconnected`: aedes sets it when DISCONNECT arrives, and then does not publish the will. */
export function discardWill(client: Client): void {
  internalsOf(client)._disconnected = true;
}

export function readNext(client: Client): void {
  internalsOf(client)._nextBatch();
}

/** `_nextBatch` listens to `readable`: aedes reads whenever bytes arrive, even while it handles earlier packets. */
export function stopReadingStream(client: Client): void {
  client.conn.off('readable', internalsOf(client)._nextBatch);
}

export function resumeReadingStream(client: Client): void {
  if (!client.closed) client.conn.on('readable', internalsOf(client)._nextBatch);
}

/** `waitForDrain`: `done` is called when the stream drains, the client leaves, or `drainTimeout` is over. */
export function waitForDrain(client: Client, done: () => void): void {
  internalsOf(client).waitForDrain(done);
}

/** `_keepaliveTimer`: restarts the Keep Alive (3.1.2.10) for a packet that aedes does not handle. */
export function refreshKeepAlive(client: Client): void {
  const { _keepaliveInterval: interval, _keepaliveTimer: timer } = internalsOf(client);
  if (interval > 0) timer?.refresh();
}

/** Reads the next packets. If the stream is full, aedes first waits until it drains, for at most `drainTimeout`. */
export function readNextAfterWrite(client: Client, hasRoom: boolean): void {
  const internals = internalsOf(client);
  if (hasRoom) setImmediate(internals._nextBatch, null);
  else internals.waitForDrain(internals._nextBatch);
}

export const NEVER_EXPIRES = 0xffff_ffff;

/** `clean`: aedes deletes the queue at the end. Otherwise it starts a timer, except with `NEVER_EXPIRES`. */
export function setSessionEnd(client: Client, isClean: boolean): void {
  const internals = internalsOf(client);
  internals.clean = isClean;
  internals.sessionExpiryInterval = isClean ? 0 : NEVER_EXPIRES;
}

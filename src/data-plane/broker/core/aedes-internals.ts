import type { Aedes } from 'aedes';

/** Members of aedes 2.0.0-beta.1 that its types do not declare. Only this file uses them, and a test checks each. */
interface BrokerInternals {
  maxTopicLevels: number;
  clients: object;
  brokers: object;
}

/** A client of aedes, or a `BrokerClient`. */
export interface ClientInternals {
  clean: boolean;
  sessionExpiryInterval: number;
  connected: boolean;
  readonly connackSent: boolean;
  readonly waitForDrain: (done: Continue) => void;
  readonly _nextBatch: Continue;
  _nextId: number;
  _disconnected: boolean;
}

type Continue = (error?: Error | null) => void;

const brokerOf = (aedes: Aedes): BrokerInternals => aedes as unknown as BrokerInternals;

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
export function takePacketId(client: ClientInternals): number {
  const packetId = client._nextId;
  client._nextId = packetId >= 65_535 ? 1 : packetId + 1;
  return packetId;
}

/** `connected`: aedes sends DISCONNECT only if it is set. Sets it after CONNACK, not only after the queue was sent. */
export function allowDisconnectPacket(client: ClientInternals): void {
  if (client.connackSent) client.connected = true;
}

/** `_disconnected`: aedes sets it when DISCONNECT arrives, and then does not publish the will. */
export function discardWill(client: ClientInternals): void {
  client._disconnected = true;
}

/** `waitForDrain`: `done` is called when the stream drains, the client leaves, or `drainTimeout` is over. */
export function waitForDrain(client: ClientInternals, done: () => void): void {
  client.waitForDrain(done);
}

/** Reads the next packets. If the stream is full, aedes first waits until it drains, for at most `drainTimeout`. */
export function readNextAfterWrite(client: ClientInternals, hasRoom: boolean): void {
  if (hasRoom) setImmediate(client._nextBatch, null);
  else client.waitForDrain(client._nextBatch);
}

export const NEVER_EXPIRES = 0xffff_ffff;

/** `clean`: aedes deletes the queue at the end. Otherwise it starts a timer, except with `NEVER_EXPIRES`. */
export function setSessionEnd(client: ClientInternals, isClean: boolean): void {
  client.clean = isClean;
  client.sessionExpiryInterval = isClean ? 0 : NEVER_EXPIRES;
}

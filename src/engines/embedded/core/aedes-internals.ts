import type { Aedes, AedesPublishPacket, Client, Subscription } from 'aedes';
import type { PacketParser } from './mqtt-packet-internals.ts';

/** Members of aedes 2.0.0-beta.1 that its types do not declare. Only this file uses them, and a test checks each. */
interface BrokerInternals {
  counter: number;
  readonly mq: Emitter;
  clients: object;
  brokers: object;
}

interface ClientInternals {
  subscriptions: object;
  duplicates: object;
  clean: boolean;
  sessionExpiryInterval: number;
  connected: boolean;
  readonly connackSent: boolean;
  readonly deliverQoS: (packet: object, done: () => void) => void;
  readonly waitForDrain: (done: Continue) => void;
  readonly _parser?: PacketParser;
  readonly _nextBatch: Continue;
  _nextId: number;
  _disconnected: boolean;
}

type Continue = (error?: Error | null) => void;

export interface Emitter {
  emit(packet: EmittedPacket, done: Continue): unknown;
}

interface EmittedPacket {
  readonly topic: string;
  readonly qos?: number;
  readonly payload?: { readonly length: number };
  readonly clientId?: string;
}

interface GrantedSubscription {
  /** What aedes calls `qos`. */
  readonly granted: 0 | 1 | 2;
  readonly si?: number;
  readonly nl?: boolean;
  readonly rap?: boolean;
}

/** A subscription with the names that aedes gives to the options of MQTT 5 (3.8.3.1). */
export interface RequestedSubscription {
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly rh: number;
  readonly rap: boolean;
  readonly nl: boolean;
  readonly identifier: number | undefined;
}

const brokerOf = (aedes: Aedes): BrokerInternals => aedes as unknown as BrokerInternals;
const internalsOf = (client: Client): ClientInternals => client as unknown as ClientInternals;
const ignore = (): void => {};

/** `mq`: aedes registers granted filters at this emitter, and emits each message there after it has stored it. */
export const emitterOf = (aedes: Aedes): Emitter => brokerOf(aedes).mq;

/** `counter`: numbers each message. aedes drops a message for a client that was sent a higher number (`duplicates`). */
export function nextMessageNumber(aedes: Aedes): number {
  const broker = brokerOf(aedes);
  broker.counter += 1;
  return broker.counter;
}

/** `clients`, `brokers`: plain objects by id in aedes 2.0.0-beta.1 (GHSA-52qw-whmv-87c5, fixed in 1.2.0). */
export function useSafeBrokerTables(aedes: Aedes): void {
  const broker = brokerOf(aedes);
  broker.clients = Object.create(null);
  broker.brokers = Object.create(null);
}

/**
 * `subscriptions`, `duplicates`: the same for topic filters and broker ids. Call it before the client is read.
 *
 * aedes lowers the QoS of a message to that of the filter that equals its topic, although another filter of the client
 * may have a higher one [MQTT-3.3.4-2]. So its subscriptions have a QoS above all, and `granted` has the real one.
 */
export function useSafeClientTables(client: Client): void {
  const internals = internalsOf(client);
  internals.duplicates = Object.create(null);
  const table = Object.create(null);
  grantedTables.set(client, table);
  internals.subscriptions = new Proxy(table, {
    set: (_table, filter: string, subscription) => {
      table[filter] = Object.assign(subscription, { granted: subscription.qos, qos: ABOVE_ALL_QOS });
      return true;
    },
  });
}

type GrantedTable = Readonly<Record<string, GrantedSubscription | undefined>>;

/** The tables without their proxies, which are slow to enumerate. */
const grantedTables = new WeakMap<Client, GrantedTable>();
const NO_TABLE: GrantedTable = Object.create(null);

/** Differs from every requested QoS, so aedes replaces the subscription by one with the new options. */
const ABOVE_ALL_QOS = 3;

export const subscriptionsOf = (client: Client): GrantedTable => grantedTables.get(client) ?? NO_TABLE;

/** `deliverQoS`: sends a message. It has no broker id, because aedes would drop a lower number than the last one. */
export function sendMessage(client: Client, packet: object): void {
  internalsOf(client).deliverQoS({ ...packet, brokerId: undefined }, ignore);
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

/** Subscribes a client as if it had sent SUBSCRIBE, without SUBACK. The types of aedes know no properties here. */
export function subscribeClient(client: Client, { identifier, ...options }: RequestedSubscription, done: Continue) {
  const properties = identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } };
  client.subscribe({ subscriptions: [options], ...properties } as never, done);
}

/** Unsubscribes a client as if it had sent UNSUBSCRIBE, without UNSUBACK. aedes expects names, unlike its types. */
export function unsubscribeClient(client: Client, filter: string, done: Continue): void {
  client.unsubscribe([filter] as never, done);
}

/** `subscriptionIdentifier`: the identifier of SUBSCRIBE; restored subscriptions have it, too. */
export const hasIdentifier = (subscription: Subscription): boolean =>
  (subscription as { subscriptionIdentifier?: number }).subscriptionIdentifier !== undefined;

/** `clientId`: the publisher. aedes compares it with the subscriber for No Local. */
export const publisherOf = (packet: AedesPublishPacket): string | undefined =>
  (packet as { clientId?: string }).clientId;

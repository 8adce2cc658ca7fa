import type { Aedes, ConnectPacket } from 'aedes';
import type { BrokerClient } from '../clients/broker-client.ts';
import type { IncomingPacket } from '../packets/mqtt-packet-internals.ts';
import { NOWHERE } from '../store/aedes-packets.ts';

/** Members of aedes 2.0.0-beta.1 that its types do not declare. Only this file uses them, and a test checks each. */
interface BrokerInternals {
  readonly id: string;
  readonly closed: boolean;
  publish(packet: { readonly topic: string }, ...more: unknown[]): void;
  preConnect(
    client: BrokerClient,
    packet: ConnectPacket,
    done: (error: Error | null, isAccepted: boolean) => void,
  ): void;
  authenticate(client: BrokerClient, username: unknown, password: unknown, done: Authenticated): void;
  registerClient(client: BrokerClient): void;
  emit(event: string, ...values: unknown[]): boolean;
}

type Authenticated = (error: { readonly returnCode?: number } | null, isAccepted: boolean | null) => void;

const CONNACK = 0x20;
const ACCEPTED = connackOf(0);
const CONNACK_ACCEPTED = Object.freeze({ cmd: 'connack', sessionPresent: false, returnCode: 0 });
const NOT_AUTHORIZED = 5;

/**
 * Handles CONNECT of an MQTT 3.1.1 client with a clean session and without a will, as aedes does. aedes would also read
 * the queue of the session through two streams, which costs more than everything else. Returns `false` for other
 * packets, which aedes must handle.
 */
export function handleConnect(aedes: Aedes, client: BrokerClient, packet: IncomingPacket): boolean {
  if (!isSimpleConnect(packet) || client.connecting || client.connected) return false;
  const broker = aedes as unknown as BrokerInternals;
  const done = (error?: Error | null) => {
    client.connecting = false;
    client._nextBatch(error);
  };
  client._parsingBatch += 1;
  client.connecting = true;
  broker.preConnect(client, packet, (error, isAccepted) => {
    if (error || !isAccepted) {
      done(error);
      return;
    }
    client.id = packet.clientId;
    client.pause();
    broker.authenticate(client, packet.username, packet.password, (refusal, isAuthenticated) => {
      if (client.closed || broker.closed) return;
      if (refusal || !isAuthenticated) {
        client.conn.write(connackOf(refusal?.returnCode ?? NOT_AUTHORIZED));
        // aedes writes and closes in different iterations of the event loop.
        setImmediate(() => client.close(() => done((refusal as Error | null) ?? new Error('not authorized'))));
        return;
      }
      accept(broker, client);
      done();
    });
  });
  return true;
}

/**
 * Handles DISCONNECT of MQTT 3.1.1. aedes would only destroy the stream, and create an error for its end. Returns
 * `false` for other packets, which aedes must handle.
 */
export function handleDisconnect(client: BrokerClient, { cmd }: IncomingPacket): boolean {
  if (cmd !== 'disconnect' || client.version !== 4 || !client.connected) return false;
  client._disconnected = true;
  client.close();
  return true;
}

function accept(broker: BrokerInternals, client: BrokerClient): void {
  client._authorized = true;
  broker.registerClient(client);
  client.conn.write(ACCEPTED);
  client.connackSent = true;
  broker.emit('connackSent', CONNACK_ACCEPTED, client);
  client.resume();
  client.connecting = false;
  if (client.closed) return;
  client.connected = true;
  broker.emit('clientReady', client);
  client.emit('connected');
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
 * about clients. Its heartbeat stays, without which it would publish the wills of connected clients.
 */
export function dropUnseenMessages(aedes: Aedes): void {
  const broker = aedes as unknown as BrokerInternals;
  const publish = broker.publish;
  const own = `$SYS/${broker.id}/`;
  const dropped = ['new/clients', 'disconnect/clients'];
  const unseen = new Set([NOWHERE, ...dropped.map((topic) => own + topic)]);
  broker.publish = (packet, ...more) => {
    if (unseen.has(packet.topic)) (more.at(-1) as (() => void) | undefined)?.();
    else publish.call(broker, packet, ...more);
  };
}

/**
 * Everything that this service uses of MQTT.js (5.16) and that its documentation does not promise. An upgrade of
 * MQTT.js that changes one of these fields, methods or texts fails a test of mqttjs-internals.test.ts.
 */

import type { Duplex } from 'node:stream';
import { type IClientSubscribeOptions, MqttClient } from 'mqtt';
import type { ConnectOptions } from './connect-options.ts';
import type { PacketIds } from './packet-ids.ts';

/**
 * Creates a client that does not read from `stream`. It reads only what is written to the `Writable` passed to
 * `onPipe`, which is called once, during this call. The client has handled a packet when `write` returns; it emits
 * `connect` later.
 *
 * Uses: MQTT.js calls `stream.pipe(writable)` and has no other way of reading.
 */
export function createClient(
  stream: Duplex,
  options: ConnectOptions,
  onPipe: (input: NodeJS.WritableStream) => void,
): MqttClient {
  stream.pipe = (input) => {
    onPipe(input);
    return input;
  };
  return new MqttClient(() => stream, options);
}

/**
 * Replaces the handling of a missing PINGRESP, which MQTT.js expects within half a keepalive. `giveUp` is the original
 * handling: it destroys the stream and emits an error that `isKeepaliveTimeout` recognizes.
 */
export function onKeepaliveTimeout(client: MqttClient, handle: (giveUp: () => void) => void): void {
  client.onKeepaliveTimeout = () => handle(() => MqttClient.prototype.onKeepaliveTimeout.call(client));
}

export function sendPing(client: MqttClient): void {
  client.sendPing();
}

/** Restarts the keepalive: the next PINGREQ is due in one interval, and no PINGRESP is expected before. */
export function restartKeepalive(client: MqttClient): void {
  client.reschedulePing(true);
}

/** Server Keep Alive of CONNACK (MQTT 5, 3.2.2.3.14), or the keepalive of the options, in seconds. 0: none. */
export const keepaliveSeconds = (client: MqttClient): number | undefined => client.keepalive;

/** Removes the packets that have no response yet. `client.end(false)` would wait for these responses. */
export function dropUnacknowledged(client: MqttClient): void {
  client.outgoing = {};
}

/**
 * Sends SUBSCRIBE. Returns its packet identifier, or `null` if the client sent none.
 *
 * Uses: MQTT.js allocates the identifier from `ids`, its `messageIdProvider`, before `subscribe` returns.
 */
export function subscribe(
  client: MqttClient,
  ids: PacketIds,
  filter: string,
  options: IClientSubscribeOptions,
  onSubscribed: (error: Error | null) => void,
): number | null {
  const previous = ids.getLastAllocated();
  client.subscribe(filter, options, onSubscribed);
  const id = ids.getLastAllocated();
  return id === previous ? null : id;
}

/** Returns the reason code of the SUBACK that made `subscribe` fail; `undefined` if it failed without a SUBACK. */
export function subackReasonCode(error: Error): number | undefined {
  const packet = 'packet' in error ? (error.packet as { granted?: readonly unknown[] } | undefined) : undefined;
  const code = packet?.granted?.[0];
  return typeof code === 'number' ? code : undefined;
}

/** Whether MQTT.js ended the connection because no PINGRESP arrived. */
export const isKeepaliveTimeout = ({ message }: Error): boolean => /keepalive timeout/i.test(message);

/** Whether MQTT.js ended the connection because no CONNACK arrived within `connectTimeout`. */
export const isConnackTimeout = ({ message }: Error): boolean => /connack timeout/i.test(message);

/**
 * What this service uses of MQTT.js (5.16) without a promise of its documentation. An upgrade that changes one of these
 * fields, methods or texts fails a test of mqttjs-internals.test.ts.
 */

import type { Duplex } from 'node:stream';
import { type IClientSubscribeOptions, MqttClient } from 'mqtt';
import type { ConnectOptions } from './connect-options.ts';
import type { PacketIds } from './packet-ids.ts';

/**
 * Creates a client that reads only what is written to the `Writable` passed to `onPipe`, which is called once, during
 * this call. The client has handled a packet when `write` returns; it emits `connect` later.
 *
 * Uses: MQTT.js calls `stream.pipe(writable)` and has no other way of reading. It makes the CONNECT packet before the
 * client can have a listener, and throws if a text is too long; later errors of the stream would end the process.
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
  try {
    return new MqttClient(() => stream, options);
  } catch (error) {
    stream.removeAllListeners('error');
    stream.on('error', () => undefined);
    stream.destroy();
    throw error;
  }
}

/**
 * MQTT.js expects PINGRESP within half a keepalive. `giveUp` destroys the stream with an error for
 * `isKeepaliveTimeout`.
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

/** `client.end(false)` would wait for their responses. */
export function dropUnacknowledged(client: MqttClient): void {
  client.outgoing = {};
}

/**
 * Returns the packet identifier, `null` if no SUBSCRIBE was sent. Uses: MQTT.js allocates it before `subscribe`
 * returns.
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

/** The reason code of the SUBACK; `undefined` if `subscribe` failed without one. */
export function subackReasonCode(error: Error): number | undefined {
  const packet = 'packet' in error ? (error.packet as { granted?: readonly unknown[] } | undefined) : undefined;
  const code = packet?.granted?.[0];
  return typeof code === 'number' ? code : undefined;
}

export const isKeepaliveTimeout = ({ message }: Error): boolean => /keepalive timeout/i.test(message);

export const isConnackTimeout = ({ message }: Error): boolean => /connack timeout/i.test(message);

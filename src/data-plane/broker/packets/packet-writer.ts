import type { Duplex } from 'node:stream';
import { generate, type Packet } from 'mqtt-packet';
import type { WritePacket } from './mqtt-packet-internals.ts';

/** Maximum Packet Sizes of clients of MQTT 5, in bytes. */
const limits = new WeakMap<Duplex, number>();

export const limitPackets = (stream: Duplex, bytes: number): void => void limits.set(stream, bytes);

/** [MQTT-3.1.2-24] Whether the client accepts a packet of this size. */
export const acceptsPacket = (stream: Duplex, bytes: number): boolean => bytes <= (limits.get(stream) ?? bytes);

/**
 * Writes a packet for aedes instead of `write` of mqtt-packet: CONNACK of MQTT 3.1 has no Session Present, and a packet
 * that is too large for the client is not sent, which closes the connection. Errors: if the packet is too large.
 */
export function writePacket(write: WritePacket, ...[packet, stream, options]: Parameters<WritePacket>): boolean {
  const { protocolVersion } = options;
  if (packet.cmd === 'connack') {
    if (protocolVersion === 3) return write({ ...packet, sessionPresent: false }, stream, options);
    // aedes says that there are no shared subscriptions.
    delete packet.properties?.sharedSubscriptionAvailable;
  }
  if (!limits.has(stream)) return write(packet, stream, options);
  const whole = generate(packet, options);
  const bytes = acceptsPacket(stream, whole.length) ? whole : generate(withoutReason(packet), options);
  if (!acceptsPacket(stream, bytes.length)) throw new Error(`the client does not accept ${bytes.length} bytes`);
  return stream.write(bytes);
}

/** [MQTT-3.2.2-19], [MQTT-3.4.2-2] and others: what is left out of a packet that would be too large. */
function withoutReason(packet: Packet): Packet {
  if (!('properties' in packet)) return packet;
  const { reasonString: _reason, ...properties } = (packet.properties ?? {}) as { readonly reasonString?: string };
  const isEmpty = Object.keys(properties).length === 0;
  return { ...packet, properties: isEmpty ? undefined : properties } as Packet;
}

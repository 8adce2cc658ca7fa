import type { Connection } from '../clients/connection.ts';
import { expiryOf } from '../connecting/connect-packet.ts';
import type { DisconnectPacket, IncomingPacket, ReceivedPublish } from './incoming-packet.ts';
import { PROTOCOL_ERROR } from './refused-packet.ts';

/** The QoS of the messages that a packet acknowledges (MQTT 5, 4.3.2, 4.3.3). */
const ACKNOWLEDGED_QOS: Readonly<Record<string, 1 | 2 | undefined>> = Object.assign(Object.create(null), {
  puback: 1,
  pubrec: 2,
  pubcomp: 2,
});

/**
 * Returns the reason code if the packet contradicts earlier packets of the connection; `null` if it does not. Notes
 * what the next packets depend on.
 */
export function sequenceProblem(connection: Connection, packet: IncomingPacket): number | null {
  const { cmd } = packet;
  if (cmd === 'publish') return isUnknownAlias(connection, packet) ? PROTOCOL_ERROR : null;
  if (cmd === 'disconnect') return endsWithOtherExpiry(connection, packet) ? PROTOCOL_ERROR : null;
  const qos = ACKNOWLEDGED_QOS[cmd];
  if (qos === undefined || !('messageId' in packet)) return null;
  const { messageId } = packet;
  const own = connection.flow.inFlight.get(messageId);
  const sent = connection.session?.byPacketId.get(messageId) ?? own;
  if (sent === undefined) return null;
  if (sent.qos !== qos) return PROTOCOL_ERROR;
  // [MQTT-4.3.3-11] PUBCOMP responds to PUBREL, which is sent after PUBREC [MQTT-4.3.3-4].
  if (cmd === 'pubcomp' && !sent.released) return PROTOCOL_ERROR;
  if (cmd === 'pubrec' && sent === own) own.released = true;
  return null;
}

/** MQTT 5, 3.3.2.3.4: a PUBLISH without a topic has an alias that an earlier one has set. */
function isUnknownAlias(connection: Connection, { topic, properties }: ReceivedPublish): boolean {
  const { topicAlias } = properties;
  if (topicAlias === undefined) return false;
  if (topic === '') return connection.flow.topicAliases?.has(topicAlias) !== true;
  connection.flow.topicAliases ??= new Map();
  connection.flow.topicAliases.set(topicAlias, topic);
  return false;
}

/** [MQTT-3.14.2-2] DISCONNECT may change the Session Expiry Interval, unless that of CONNECT is 0. */
function endsWithOtherExpiry(connection: Connection, { properties }: DisconnectPacket): boolean {
  const { sessionExpiryInterval: interval } = properties;
  if (interval === undefined) return false;
  if (connection.expirySeconds === 0) return interval > 0;
  connection.expirySeconds = expiryOf(interval);
  return false;
}

import type { Client } from 'aedes';
import { parserOf } from './aedes-internals.ts';
import type { Connection } from './connection.ts';
import { packetLength } from './mqtt-packet-internals.ts';

/** Maximum size of a packet before the client is admitted: the largest possible CONNECT. */
const MAX_CONNECT_BYTES = 330_000;

/** Packets that are not answered by exactly one packet. Whether PUBLISH is answered depends on its QoS. */
const UNANSWERED = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);

/** The lowest reason code of a failure. */
const FAILURE = 0x80;

/**
 * Counts packets, and refuses a packet that is too large before its body is read. `settled`: acknowledged packet ids.
 */
export function meterPackets(
  client: Client,
  connection: Connection,
  maxPacketBytes: number,
  settled: (packetId: number) => void,
): void {
  const parser = parserOf(client);
  if (!parser) return;
  parser.on('packet', ({ cmd, qos, messageId, reasonCode = 0 }) => {
    connection.packetsIn += 1;
    if (cmd === 'publish' ? qos !== 0 : !UNANSWERED.has(cmd)) connection.responses += 1;
    const isSettled = cmd === 'puback' || cmd === 'pubcomp' || (cmd === 'pubrec' && reasonCode >= FAILURE);
    if (isSettled && messageId !== undefined) settled(messageId);
  });
  const parse = parser.parse;
  parser.parse = (chunk) => {
    const rest = parse.call(parser, chunk);
    // aedes sets `connected` when the queue of the session was sent, which is too late here.
    const isAdmitted = connection.identity !== null;
    const limit = isAdmitted ? maxPacketBytes : Math.min(maxPacketBytes, MAX_CONNECT_BYTES);
    // aedes sends DISCONNECT to an admitted MQTT 5 client.
    const isRefusedByAedes = isAdmitted && connection.protocolVersion === 5;
    const length = packetLength(parser);
    if (length > limit && !isRefusedByAedes) parser.emit('error', new Error(`packet of ${length} bytes`));
    return rest;
  };
}

import type { Client } from 'aedes';
import { checkPacket } from '../packets/packet-rules.ts';
import { MALFORMED_PACKET, RefusedPacket } from '../packets/refused-packet.ts';
import { parserOf } from './aedes-internals.ts';
import { closeWith } from './connect-refusal.ts';
import type { Connection } from './connection.ts';
import type { Faults } from './faults.ts';
import { checkEachPacket, type IncomingPacket, packetLength } from './mqtt-packet-internals.ts';

/**
 * Guards aedes against the packets of a connection. aedes does not get those that `before` has handled (DONE). A packet
 * that the specification forbids, one that `before` refuses with a reason code, or an exception closes the connection,
 * and nothing more is read. Call it before anything else listens to the client's parser.
 */
export function guardPackets(
  client: Client,
  connection: Connection,
  faults: Faults,
  before: (packet: IncomingPacket) => number | null | 'DONE',
): void {
  const parser = parserOf(client);
  if (!parser) return;
  let isOver = false;
  let hasConnect = false;
  const refuse = (reason: number, connack: Buffer | null = null) => {
    if (isOver) return;
    isOver = true;
    if (connack === null || hasConnect) void connection.disconnect(reason);
    else closeWith(client, connack);
  };
  const failed = (text: string, error: unknown, reason?: number) => {
    isOver = true;
    faults.ofConnection(connection, text, error, reason);
  };

  const [handle] = parser.listeners('packet');
  parser.removeAllListeners('packet');
  parser.on('packet', (packet) => {
    if (isOver || client.closed) return;
    hasConnect = true;
    try {
      const reason = before(packet);
      if (reason === null) handle?.call(parser, packet);
      else if (reason !== 'DONE') refuse(reason);
    } catch (error) {
      failed(`a client's ${packet.cmd} could not be handled`, error);
    }
  });
  parser.removeAllListeners('error');
  parser.on('error', (error) => {
    if (error instanceof RefusedPacket) refuse(error.reasonCode, error.connack);
    else refuse(MALFORMED_PACKET);
  });

  checkEachPacket(parser, checkPacket);
  const parse = parser.parse;
  parser.parse = (chunk) => {
    if (isOver) return 0;
    try {
      return parse.call(parser, chunk);
    } catch (error) {
      failed("a client's packet could not be read", error, MALFORMED_PACKET);
      return 0;
    }
  };
}

/** Maximum size of a packet before the client is admitted: the largest possible CONNECT. */
const MAX_CONNECT_BYTES = 330_000;

/** Packets that are not answered by exactly one packet. Whether PUBLISH is answered depends on its QoS. */
const UNANSWERED = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);

const FAILURE = 0x80;

/** Counts packets, and refuses too large ones before their bodies are read. `settled`: acknowledged packet ids. */
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

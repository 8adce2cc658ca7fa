import type { Client } from 'aedes';
import type { Connection } from './connection.ts';

/** Before a client is let in it may send no more than the largest CONNECT there is. */
const MAX_CONNECT_BYTES = 330_000;

/** What comes back for each kind of packet: exactly one packet, except for these. PUBLISH depends on its QoS. */
const UNANSWERED = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);

/** What is read of a packet that came. */
export interface IncomingPacket {
  readonly cmd: string;
  readonly qos?: number;
  readonly messageId?: number;
  readonly reasonCode?: number;
}

interface MqttParser {
  packet: { length: number };
  parse(chunk: Buffer): number;
  emit(event: 'error', error: Error): boolean;
  on(event: 'packet', listener: (packet: IncomingPacket) => void): void;
}

/**
 * Counts the packets of a connection and refuses one that is too large, before it is read. aedes shows neither what it reads nor
 * refuses in time, so this reaches for its parser; without one (another aedes) it says false and nothing is counted. `settled` is
 * told the packet ids of messages that the client is done with.
 */
export function meterPackets(
  client: Client,
  connection: Connection,
  maxPacketBytes: number,
  settled: (packetId: number) => void,
): boolean {
  const parser = parserOf(client);
  if (!parser) return false;
  parser.on('packet', ({ cmd, qos, messageId, reasonCode = 0 }) => {
    connection.packetsIn += 1;
    if (cmd === 'publish' ? qos !== 0 : !UNANSWERED.has(cmd)) connection.answers += 1;
    const isSettled = cmd === 'puback' || cmd === 'pubcomp' || (cmd === 'pubrec' && reasonCode >= FAILURE);
    if (isSettled && messageId !== undefined) settled(messageId);
  });
  const parse = parser.parse;
  parser.parse = (chunk) => {
    const rest = parse.call(parser, chunk);
    // The packet that is being read; -1 between two packets. aedes calls a client connected when its queue was sent, which is late.
    const limit = connection.identity ? maxPacketBytes : Math.min(maxPacketBytes, MAX_CONNECT_BYTES);
    // A client of MQTT 5 that was let in is told so by aedes.
    const isTold = connection.identity !== null && connection.protocolVersion === 5;
    if (parser.packet.length > limit && !isTold) {
      parser.emit('error', new Error(`packet of ${parser.packet.length} bytes`));
    }
    return rest;
  };
  return true;
}

/** Reason codes from here on are failures. */
const FAILURE = 0x80;

function parserOf(client: Client): MqttParser | null {
  const parser = (client as unknown as { _parser?: MqttParser })._parser;
  return typeof parser?.parse === 'function' ? parser : null;
}

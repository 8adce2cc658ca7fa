import type { Client } from 'aedes';
import type { Connection } from './connection.ts';

/** Before a client is let in it may send no more than the largest CONNECT there is. */
const MAX_CONNECT_BYTES = 330_000;

/** What comes back for each kind of packet: exactly one packet, except for these. PUBLISH depends on its QoS. */
const UNANSWERED = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);

interface MqttParser {
  packet: { length: number };
  parse(chunk: Buffer): number;
  emit(event: 'error', error: Error): boolean;
  on(event: 'packet', listener: (packet: { cmd: string; qos?: number }) => void): void;
}

/**
 * Counts the packets of a connection and refuses one that is too large, before it is read. aedes bounds neither and shows
 * neither, so this reaches for its parser; without one (another aedes) it says false and nothing is counted.
 */
export function meterPackets(client: Client, connection: Connection, maxPacketBytes: number): boolean {
  const parser = (client as unknown as { _parser?: MqttParser })._parser;
  if (typeof parser?.parse !== 'function') return false;
  parser.on('packet', ({ cmd, qos }) => {
    connection.packetsIn += 1;
    if (cmd === 'publish' ? qos !== 0 : !UNANSWERED.has(cmd)) connection.answers += 1;
  });
  const parse = parser.parse;
  parser.parse = (chunk) => {
    const rest = parse.call(parser, chunk);
    // The packet that is being read; -1 between two packets. aedes calls a client connected when its queue was sent, which is late.
    const limit = connection.identity ? maxPacketBytes : Math.min(maxPacketBytes, MAX_CONNECT_BYTES);
    if (parser.packet.length > limit) parser.emit('error', new Error(`packet of ${parser.packet.length} bytes`));
    return rest;
  };
  return true;
}

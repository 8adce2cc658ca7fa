import type { Readable } from 'node:stream';
import type { Client } from 'aedes';
import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { Connection } from './connection.ts';

/** Bytes that are read at once, unless the rest of a large packet is longer. What there is no time for is put back into the socket. */
const PIECE_BYTES = 16_384;

interface AedesReading {
  readonly conn: Readable;
  readonly closed: boolean;
  readonly connecting: boolean;
  readonly connackSent: boolean;
  readonly _nextBatch: () => void;
  readonly _parser?: MqttParser;
}

/** mqtt-packet 9.0.2. */
interface MqttParser {
  /** The packet that is being read; its length is -1 between two packets. */
  readonly packet: { readonly length: number };
  /** Bytes that are not read yet. */
  readonly _list: { readonly length: number; slice(): Buffer; consume(bytes: number): void };
  parse(chunk: Buffer): number;
  /** Emits the packet that was read. */
  _newPacket(): boolean;
}

/**
 * Reads a connection in slices, in turn with the other connections of the broker: a slice ends with the first packet after `time` is
 * over. A client whose packets take long, such as messages that match thousands of filters, comes after clients that use little time,
 * and delays them by one packet. Unread bytes wait in the socket, so no packet is lost when the client closes the connection.
 * aedes 2.0.0-beta.1 handles all bytes that have arrived without a pause.
 *
 * What follows CONNECT is read when CONNACK was sent: call the returned function then.
 */
export function readInSlices(client: Client, connection: Connection, time: ReadingTime): () => void {
  const aedes = client as unknown as AedesReading;
  const { conn, _parser: parser } = aedes;
  if (!parser) return () => {};
  let isWaiting = false;
  let isParsing = false;
  let end = 0;
  const isConnecting = () => aedes.connecting && !aedes.connackSent;
  const goOn = () => {
    isWaiting = false;
    // aedes reads when `readable` is emitted, which calls this function.
    if (!aedes.closed && connection.fullRows === 0) aedes._nextBatch();
  };
  const wait = () => {
    isWaiting = true;
    time.nextIteration(goOn, !connection.hasTime);
  };

  const read = conn.read;
  conn.read = (size?: number) => {
    // aedes reads with null, also when it has handled a packet while later ones are being parsed.
    if (typeof size === 'number') return read.call(conn, size);
    if (isWaiting || isParsing || isConnecting()) return null;
    if (time.leftMs <= 0) {
      wait();
      return null;
    }
    const bytes = Math.max(PIECE_BYTES, parser.packet.length - parser._list.length);
    if (conn.readableLength <= bytes) return read.call(conn);
    isWaiting = true;
    process.nextTick(goOn);
    return read.call(conn, bytes);
  };

  const parse = parser.parse;
  parser.parse = (chunk) => {
    const start = performance.now();
    end = start + time.leftMs;
    isParsing = true;
    try {
      return parse.call(parser, chunk);
    } finally {
      isParsing = false;
      connection.spend(time, performance.now() - start);
    }
  };

  const newPacket = parser._newPacket;
  parser._newPacket = () => {
    newPacket.call(parser);
    const { _list: list } = parser;
    if (list.length === 0 || aedes.closed || (performance.now() < end && !isConnecting())) return true;
    const rest = list.slice();
    list.consume(rest.length);
    conn.unshift(rest);
    if (!isWaiting && !isConnecting()) wait();
    return true;
  };
  return () => process.nextTick(goOn);
}

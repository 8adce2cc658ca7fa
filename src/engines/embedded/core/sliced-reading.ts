import type { Client } from 'aedes';
import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import { isConnackSent, parserOf, readNext } from './aedes-internals.ts';
import type { Connection } from './connection.ts';
import { afterEachPacket, hasUnparsedBytes, missingBytes, takeUnparsedBytes } from './mqtt-packet-internals.ts';

/** Maximum number of bytes of one read, unless the rest of a large packet is longer. */
const MAX_READ_BYTES = 16_384;

/**
 * Reads a connection in time slices, because aedes 2.0.0-beta.1 handles all bytes that have arrived without a pause. A
 * slice ends with the first packet after `time` is over, and a client that needs much time is read after the others.
 * Unparsed bytes return to the socket's buffer. Call the returned function when CONNACK was sent, to read on.
 */
export function readInSlices(client: Client, connection: Connection, time: ReadingTime): () => void {
  const { conn } = client;
  const parser = parserOf(client);
  if (!parser) return () => {};
  let isWaiting = false;
  let isParsing = false;
  let end = 0;
  const isConnecting = () => client.connecting && !isConnackSent(client);
  const goOn = () => {
    isWaiting = false;
    // aedes reads when `readable` is emitted, which calls this function.
    if (!client.closed && connection.readingStops === 0) readNext(client);
  };
  const wait = () => {
    isWaiting = true;
    time.nextIteration(goOn, !connection.hasTime);
  };

  const read = conn.read;
  conn.read = (size?: number) => {
    // aedes passes null. It also reads when it has handled a packet while later ones are being parsed.
    if (typeof size === 'number') return read.call(conn, size);
    if (isWaiting || isParsing || isConnecting() || connection.readingStops > 0) return null;
    if (time.leftMs <= 0) {
      wait();
      return null;
    }
    const bytes = Math.max(MAX_READ_BYTES, missingBytes(parser));
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

  afterEachPacket(parser, () => {
    if (!hasUnparsedBytes(parser) || client.closed || (performance.now() < end && !isConnecting())) return;
    conn.unshift(takeUnparsedBytes(parser));
    if (!isWaiting && !isConnecting()) wait();
  });
  return () => process.nextTick(goOn);
}

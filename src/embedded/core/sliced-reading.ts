import type { Readable } from 'node:stream';
import type { Client } from 'aedes';
import type { ReadingTime } from '../../mqtt/reading-time.ts';
import type { Connection } from './connection.ts';

/** Number of bytes of small packets per slice: FIRST_BYTES for a new connection, then more or fewer by the time that its packets take. */
const FIRST_BYTES = 512;
const MIN_BYTES = 256;
const MAX_BYTES = 16_384;
/** A slice that takes longer than SLOW_MS makes the next one smaller; one that takes less than FAST_MS makes it larger. Milliseconds. */
const SLOW_MS = 4;
const FAST_MS = 1;

interface AedesReading {
  readonly conn: Readable;
  readonly closed: boolean;
  readonly _nextBatch: () => void;
  readonly _parser?: MqttParser;
}

/** mqtt-packet 9.0.2. */
interface MqttParser {
  /** The packet that is being read; its length is -1 between two packets. */
  readonly packet: { readonly length: number };
  /** What was read of it. */
  readonly _list: { readonly length: number };
  parse(chunk: Buffer): number;
}

/**
 * Reads a connection in slices, round robin with the other connections of the broker. A client whose packets take long, such as messages
 * that match thousands of filters, delays another client by one slice. Unread bytes wait in the socket, so no packet is lost when the
 * client closes the connection. aedes 2.0.0-beta.1 handles all bytes that have arrived without a pause.
 */
export function readInSlices(client: Client, connection: Connection, time: ReadingTime): void {
  const aedes = client as unknown as AedesReading;
  const { conn, _parser: parser } = aedes;
  if (!parser) return;
  let sliceBytes = FIRST_BYTES;
  let isWaiting = false;
  const goOn = () => {
    isWaiting = false;
    // aedes reads when `readable` is emitted, which calls this function.
    if (!aedes.closed && connection.fullRows === 0) aedes._nextBatch();
  };

  const read = conn.read;
  conn.read = (size?: number) => {
    // aedes reads with null.
    if (typeof size === 'number') return read.call(conn, size);
    if (isWaiting) return null;
    if (time.leftMs <= 0) {
      isWaiting = true;
      time.nextTurn(goOn);
      return null;
    }
    // The rest of a large packet costs as much as a small packet.
    const bytes = Math.max(sliceBytes, parser.packet.length - parser._list.length);
    if (conn.readableLength <= bytes) return read.call(conn);
    isWaiting = true;
    process.nextTick(goOn);
    return read.call(conn, bytes);
  };

  let isParsing = false;
  const parse = parser.parse;
  parser.parse = (chunk) => {
    // aedes reads recursively when it handles a packet synchronously.
    if (isParsing) return parse.call(parser, chunk);
    isParsing = true;
    const start = performance.now();
    try {
      return parse.call(parser, chunk);
    } finally {
      isParsing = false;
      const ms = performance.now() - start;
      time.spend(ms);
      if (ms > SLOW_MS) sliceBytes = Math.max(MIN_BYTES, Math.floor((sliceBytes * SLOW_MS) / ms));
      else if (ms < FAST_MS && chunk.length >= sliceBytes) sliceBytes = Math.min(MAX_BYTES, sliceBytes * 2);
    }
  };
}

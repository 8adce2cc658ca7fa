import type { Readable } from 'node:stream';
import type { Client } from 'aedes';
import type { ReadingTime } from '../../mqtt/reading-time.ts';
import type { Connection } from './connection.ts';

/** Bytes of small packets that are read of a connection at once: few of a new one, and more of one whose packets are quickly handled. */
const FIRST_BYTES = 512;
const MIN_BYTES = 256;
const MAX_BYTES = 16_384;
/** Handling so many bytes shall not take longer, and may be tried with more bytes if it is much faster. In milliseconds. */
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
 * Reads a connection in slices, in turn with the other connections of the broker: a client whose packets take long, such as messages that
 * match thousands of filters, delays others by one slice. What is not read yet waits in the socket, and nothing of it is lost when the
 * client closes the connection. aedes itself handles all that has arrived at once.
 */
export function readInSlices(client: Client, connection: Connection, time: ReadingTime): void {
  const aedes = client as unknown as AedesReading;
  const { conn, _parser: parser } = aedes;
  if (!parser) return;
  let sliceBytes = FIRST_BYTES;
  let isWaiting = false;
  const goOn = () => {
    isWaiting = false;
    // As if more had arrived.
    if (!aedes.closed && connection.fullRows === 0) aedes._nextBatch();
  };

  const read = conn.read;
  conn.read = (size?: number) => {
    // aedes asks for all there is.
    if (typeof size === 'number') return read.call(conn, size);
    if (isWaiting) return null;
    if (time.leftMs <= 0) {
      isWaiting = true;
      time.nextTurn(goOn);
      return null;
    }
    // The rest of a large packet is one piece of work.
    const bytes = Math.max(sliceBytes, parser.packet.length - parser._list.length);
    if (conn.readableLength <= bytes) return read.call(conn);
    isWaiting = true;
    process.nextTick(goOn);
    return read.call(conn, bytes);
  };

  let isParsing = false;
  const parse = parser.parse;
  parser.parse = (chunk) => {
    // aedes reads on within a packet that is handled at once.
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

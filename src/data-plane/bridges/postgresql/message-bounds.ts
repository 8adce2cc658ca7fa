import type { Duplex } from 'node:stream';
import { RateLimit } from '../../../platform/limits/rate-limit.ts';

/** The error of a refused row may repeat a value of 16 MiB. */
const MAX_MESSAGE_BYTES = 33_554_432;
/** A message without content takes about as much time as this number of bytes. */
const MIN_WEIGHT = 256;
/** Bytes or weight of all messages. */
const BYTES_PER_SECOND = 33_554_432;
/** Type and length (PostgreSQL, "Message Formats"). */
const HEADER_BYTES = 5;

/**
 * Destroys a connection to a PostgreSQL server that sends a message of more than MAX_MESSAGE_BYTES, or messages of more
 * than BYTES_PER_SECOND. pg-protocol 1 has no bound: it buffers as many bytes as a message announces, up to 4 GiB.
 * Must be called before pg reads the stream.
 */
export function boundMessages(stream: Duplex): void {
  const rate = new RateLimit({ perSecond: BYTES_PER_SECOND, burst: 2 * BYTES_PER_SECOND });
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let bodyBytes = 0;
  stream.on('data', (chunk: Buffer) => {
    let weight = chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const skipped = Math.min(bodyBytes, chunk.length - at);
      bodyBytes -= skipped;
      at += skipped;
      const copied = chunk.copy(header, headerBytes, at, at + HEADER_BYTES - headerBytes);
      headerBytes += copied;
      at += copied;
      if (headerBytes < HEADER_BYTES) continue;
      headerBytes = 0;
      // The length includes its own four bytes.
      bodyBytes = header.readUInt32BE(1) - 4;
      weight += MIN_WEIGHT;
      if (bodyBytes < 0 || bodyBytes > MAX_MESSAGE_BYTES) {
        stream.destroy(
          new Error(`The server sent a message without a valid length of at most ${MAX_MESSAGE_BYTES} bytes`),
        );
        return;
      }
    }
    if (rate.take('', weight) > 0)
      stream.destroy(new Error(`The server sent more than ${BYTES_PER_SECOND} bytes per second`));
  });
}

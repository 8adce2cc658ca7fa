import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import { RateLimit } from '../../../platform/limits/rate-limit.ts';

/** The error of a refused row may repeat a value of 16 MiB. */
const MAX_MESSAGE_BYTES = 33_554_432;
/** pg splits these messages into pieces. */
const MAX_AUTHENTICATION_BYTES = 4_096;
/** Each field of an error or a notice ends with a zero byte; PostgreSQL defines 18 fields. */
const MAX_FIELDS = 100;
/** Bytes or weight of what pg collects until the server is ready for the next query. */
const MAX_RESULT_BYTES = 4_194_304;
/** A message without content takes about as much time as this number of bytes. */
const MIN_WEIGHT = 1_024;
/** Bytes or weight of all messages. */
const BYTES_PER_SECOND = 33_554_432;
/** Type and length (PostgreSQL, "Message Formats"). */
const HEADER_BYTES = 5;

/**
 * Destroys a connection to a PostgreSQL server that exceeds a bound, or that sends a message which pg cannot read. The
 * returned emitter has the events that pg may read. pg-protocol 1 has no bound: it buffers as many bytes as a message
 * announces, up to 4 GiB, reads an error without an end forever, and throws on other invalid messages. Must be called
 * before pg reads the stream.
 */
export function boundMessages(stream: Duplex): EventEmitter {
  const bounds = new MessageBounds();
  const bounded = new EventEmitter();
  stream.on('data', (chunk: Buffer) => {
    try {
      bounds.check(chunk);
      bounded.emit('data', chunk);
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  });
  stream.on('end', () => bounded.emit('end'));
  return bounded;
}

class MessageBounds {
  readonly #rate = new RateLimit({ perSecond: BYTES_PER_SECOND, burst: 2 * BYTES_PER_SECOND });
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** Of the current message: its type, the bytes that are not read yet, its zero bytes, and those at its end. */
  #type = '';
  #bodyBytes = 0;
  #zeros = 0;
  #zerosAtEnd = 1;
  #resultBytes = 0;

  /** Errors: what is wrong with a message in the chunk. */
  check(chunk: Buffer): void {
    let weight = chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const body = chunk.subarray(at, at + this.#bodyBytes);
      this.#bodyBytes -= body.length;
      at += body.length;
      if (isReport(this.#type)) this.#checkReport(body);
      const copied = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER_BYTES - this.#headerBytes);
      this.#headerBytes += copied;
      at += copied;
      if (this.#headerBytes < HEADER_BYTES) continue;
      this.#startMessage();
      weight += MIN_WEIGHT;
    }
    if (this.#rate.take('', weight) > 0)
      throw new Error(`The server sent more than ${BYTES_PER_SECOND} bytes per second`);
  }

  #startMessage(): void {
    this.#headerBytes = 0;
    this.#type = String.fromCharCode(this.#header.readUInt8(0));
    // The length includes its own four bytes.
    this.#bodyBytes = this.#header.readUInt32BE(1) - 4;
    this.#zeros = 0;
    // An empty field at the start is the end as well.
    this.#zerosAtEnd = 1;
    const maxBytes = this.#type === 'R' ? MAX_AUTHENTICATION_BYTES : MAX_MESSAGE_BYTES;
    if (this.#bodyBytes < 0 || this.#bodyBytes > maxBytes)
      throw new Error(`The server sent a message without a valid length of at most ${maxBytes} bytes`);
    if (isReport(this.#type)) {
      if (this.#bodyBytes === 0) throw new Error(WITHOUT_END);
      return;
    }
    this.#resultBytes = this.#type === 'Z' ? 0 : this.#resultBytes + this.#bodyBytes + MIN_WEIGHT;
    if (this.#resultBytes > MAX_RESULT_BYTES)
      throw new Error(`The server sent a result of more than ${MAX_RESULT_BYTES} bytes`);
  }

  /** The body of an error or a notice must end with an empty field. */
  #checkReport(body: Buffer): void {
    for (const byte of zeroBytes(body)) {
      this.#zerosAtEnd = byte === 0 || body[byte - 1] === 0 ? this.#zerosAtEnd + 1 : 1;
      this.#zeros += 1;
      if (this.#zeros > MAX_FIELDS)
        throw new Error(`The server sent an error or a notice of more than ${MAX_FIELDS} fields`);
    }
    if (body.length > 0 && body.at(-1) !== 0) this.#zerosAtEnd = 0;
    if (this.#bodyBytes === 0 && this.#zerosAtEnd < 2) throw new Error(WITHOUT_END);
  }
}

function* zeroBytes(body: Buffer): Iterable<number> {
  for (let at = body.indexOf(0); at >= 0; at = body.indexOf(0, at + 1)) yield at;
}

const WITHOUT_END = 'The server sent an error or a notice without an end';

/** ErrorResponse and NoticeResponse. */
const isReport = (type: string): boolean => type === 'E' || type === 'N';

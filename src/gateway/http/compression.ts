import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import { acceptedEncoding, type Encoding } from './accepted-encoding.ts';
import { bytesOf, type TextBody } from './text-body.ts';

/** Shorter bodies are sent as they are: with the header fields they take one or two packets. */
const MIN_BYTES = 1_024;
/**
 * Shorter bodies are compressed in the main thread. Of a body of 12 KB that takes 26 µs with Brotli and 44 µs with
 * gzip; the thread pool takes twice the processor time.
 */
const MAX_MAIN_THREAD_BYTES = 16_384;
/** Half of the threads of Node's pool, which also reads files and checks passwords. */
const MAX_CONCURRENT = 2;
/** Each takes 0.5 MB. */
const MAX_STREAMS = 16;

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_OPERATION_FLUSH, Z_SYNC_FLUSH } = constants;
const GZIP = { level: 1, windowBits: 13, memLevel: 6 } as const;
const BROTLI = { params: { [BROTLI_PARAM_QUALITY]: 1, [BROTLI_PARAM_LGWIN]: 16 } };
/** A smaller buffer for the output of short bodies takes a sixth less time. */
const SHORT = { chunkSize: 4_096 } as const;
const SHORT_GZIP = { ...GZIP, ...SHORT };
const SHORT_BROTLI = { ...BROTLI, ...SHORT };
const brotliInPool = promisify(brotliCompress);
const gzipInPool = promisify(gzip);

/** Header fields of a response, with names in lower case. */
type Headers = Record<string, string>;

/**
 * Compresses responses for clients that accept it. Beyond the limits, and for other clients, responses are sent as they
 * are. Callers pass no response that may contain a new secret together with text of the request
 * (https://www.breachattack.com): neither those to mutations nor those of REST to methods other than GET.
 */
export class Compression {
  #running = 0;
  #streams = 0;

  /** Returns the compressed body and adds its header fields, except for the length. `null`: it is sent as it is. */
  body(
    content: Buffer | TextBody,
    headers: Headers,
    accept: string | undefined,
  ): ValueOrPromise<Buffer<ArrayBuffer>> | null {
    const length = Buffer.isBuffer(content) ? content.length : content.bytes;
    const isLong = length > MAX_MAIN_THREAD_BYTES;
    const encoding = isLong && this.#running >= MAX_CONCURRENT ? null : encodingOf(accept, length);
    if (encoding === null) return null;
    describe(headers, encoding);
    const body = Buffer.isBuffer(content) ? content : bytesOf(content);
    if (isLong) return this.#inPool(body, encoding);
    return encoding === 'br' ? brotliCompressSync(body, SHORT_BROTLI) : gzipSync(body, SHORT_GZIP);
  }

  /** Like `body`, for a body in pieces. Each piece is sent when it is written. */
  stream(headers: Headers, accept: string | undefined): Transform | null {
    const encoding = this.#streams < MAX_STREAMS ? encodingOf(accept) : null;
    if (encoding === null) return null;
    describe(headers, encoding);
    this.#streams += 1;
    const stream =
      encoding === 'br'
        ? createBrotliCompress({ ...BROTLI, flush: BROTLI_OPERATION_FLUSH })
        : createGzip({ ...GZIP, flush: Z_SYNC_FLUSH });
    return stream.once('close', () => {
      this.#streams -= 1;
    });
  }

  async #inPool(body: Buffer, encoding: Encoding): Promise<Buffer<ArrayBuffer>> {
    this.#running += 1;
    try {
      return await (encoding === 'br' ? brotliInPool(body, BROTLI) : gzipInPool(body, GZIP));
    } finally {
      this.#running -= 1;
    }
  }
}

/** `bytes`: default unknown. */
export function encodingOf(accept: string | undefined, bytes = MIN_BYTES): Encoding | null {
  return bytes < MIN_BYTES ? null : acceptedEncoding(accept);
}

export function describe(headers: Headers, encoding: Encoding): void {
  headers['content-encoding'] = encoding;
  headers.vary = headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding`;
}

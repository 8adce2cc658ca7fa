import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../platform/errors.ts';
import type { Hold } from '../../platform/limits/byte-budget.ts';
import { MAX_ANONYMOUS_BODY_BYTES, PIECE_BYTES, type Traffic, UNCOUNTED_BYTES } from './traffic.ts';

/** A refused body is discarded up to this multiple of the limit, so that its sender can read the response. */
const DISCARD_FACTOR = 8;

/** TOO_LARGE. The response should close the connection, because the rest of the body is too large to be discarded. */
export class UnreadBodyError extends ServiceError {}

export interface BodyLimits {
  readonly maxBytes: number;
  readonly traffic: Traffic;
}

/**
 * Reads the whole body, or calls `onError` with TOO_LARGE or RATE_LIMITED as soon as possible; the rest is discarded.
 * Callbacks instead of a promise, which would delay the response by a turn of the microtask queue.
 */
export function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  { maxBytes, traffic }: BodyLimits,
  onBody: (body: Buffer) => void,
  onError: (error: ServiceError) => void,
): void {
  const refusal = announced(req.headers['content-length'], maxBytes);
  if (refusal !== null) {
    onError(refusal);
    return;
  }
  const openHold = (onEvicted: () => void) => traffic.receiving(req, res, onEvicted);
  const body = new IncomingBody(maxBytes, openHold, onBody, onError);
  req.on('data', (piece: Buffer) => {
    if (!body.add(piece)) req.destroy();
  });
  req.on('end', () => body.complete());
  req.on('error', () => body.abort());
  req.on('close', () => body.abort());
}

export const bodyOf = (req: IncomingMessage, res: ServerResponse, limits: BodyLimits): Promise<Buffer> =>
  new Promise((resolve, reject) => readBody(req, res, limits, resolve, reject));

interface ReceivedBody {
  readonly bytes: Buffer;
  /** Must be called when the response is complete: until then the bytes are counted. */
  readonly release: () => void;
}

/** Like `readBody`, for a `Request` of the given network. */
export function receiveBody(
  { headers, body: stream }: Request,
  network: string,
  { maxBytes, traffic }: BodyLimits,
): Promise<ReceivedBody> {
  return new Promise((resolve, reject) => {
    const refusal = announced(headers.get('content-length'), maxBytes);
    if (refusal !== null) throw refusal;
    let hold: Hold | null = null;
    const openHold = (onEvicted: () => void) => {
      hold = traffic.requests.hold(network, onEvicted);
      return hold;
    };
    const onBody = (bytes: Buffer) => resolve({ bytes, release: () => hold?.release() });
    const body = new IncomingBody(maxBytes, openHold, onBody, reject);
    if (stream === null) body.complete();
    else void readStream(stream.getReader(), body);
  });
}

async function readStream(reader: ReadableStreamDefaultReader<Uint8Array>, body: IncomingBody): Promise<void> {
  try {
    for (let next = await reader.read(); ; next = await reader.read()) {
      if (next.done) {
        body.complete();
        return;
      }
      if (!body.add(next.value)) {
        await reader.cancel();
        return;
      }
    }
  } catch {
    body.abort();
  }
}

/** A body that arrives in pieces. Calls `onBody` or `onError` once. */
class IncomingBody {
  readonly #maxBytes: number;
  readonly #openHold: (onEvicted: () => void) => Hold;
  readonly #onBody: (body: Buffer) => void;
  readonly #onError: (error: ServiceError) => void;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #countedBytes = 0;
  #hold: Hold | null = null;
  #isOver = false;

  constructor(
    maxBytes: number,
    openHold: (onEvicted: () => void) => Hold,
    onBody: (body: Buffer) => void,
    onError: (error: ServiceError) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#openHold = openHold;
    this.#onBody = onBody;
    this.#onError = onError;
  }

  /** Returns false if the rest must not be read, because it is too large to be discarded. */
  add(piece: Uint8Array): boolean {
    this.#size += piece.length;
    if (this.#size > this.#maxBytes * DISCARD_FACTOR) return false;
    if (this.#size > this.#maxBytes) this.#fail(tooLarge(this.#maxBytes));
    else if (!this.#isOver) {
      this.#pieces.push(piece);
      this.#count(piece);
    }
    return true;
  }

  complete(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // A complete body cannot be evicted.
    this.#hold?.pin();
    const [first] = this.#pieces;
    this.#onBody(this.#pieces.length === 1 && Buffer.isBuffer(first) ? first : Buffer.concat(this.#pieces));
  }

  abort(): void {
    // Complete requests close as well: the error is created only if it is used.
    if (!this.#isOver) this.#fail(new ServiceError('INVALID', 'The request ended before its body was complete'));
  }

  #count(piece: Uint8Array): void {
    this.#countedBytes += piece.length + PIECE_BYTES;
    if (this.#countedBytes <= UNCOUNTED_BYTES) return;
    const onEvicted = () => this.#fail(noRoom());
    this.#hold ??= this.#openHold(onEvicted);
    if (!this.#hold.resize(this.#countedBytes)) onEvicted();
  }

  #fail(error: ServiceError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pieces = [];
    this.#hold?.release();
    this.#onError(error);
  }
}

/** The error of a body that is too large according to its Content-Length. */
function announced(length: string | null | undefined, maxBytes: number): ServiceError | null {
  const bytes = Number(length ?? 0);
  if (bytes <= maxBytes) return null;
  const refusal = tooLarge(maxBytes);
  const isUnread = bytes > maxBytes * DISCARD_FACTOR;
  return isUnread ? new UnreadBodyError(refusal.code, refusal.message, { info: { maxBytes } }) : refusal;
}

const noRoom = (): ServiceError =>
  new ServiceError('RATE_LIMITED', 'Too many bytes of requests are in progress; try again in 1 s', {
    info: { retryAfterSeconds: 1 },
  });

function tooLarge(maxBytes: number): ServiceError {
  const hint = maxBytes === MAX_ANONYMOUS_BODY_BYTES ? ' without valid credentials' : '';
  return new ServiceError('TOO_LARGE', `The body must not have more than ${maxBytes} bytes${hint}`, {
    info: { maxBytes },
  });
}

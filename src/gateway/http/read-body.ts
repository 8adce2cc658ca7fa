import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../platform/errors.ts';
import type { Hold } from '../../platform/limits/byte-budget.ts';
import { MAX_ANONYMOUS_BODY_BYTES, PIECE_BYTES, type Traffic, UNCOUNTED_BYTES } from './traffic.ts';

/** A refused body is discarded up to this multiple of the limit, so that its sender can read the response. */
const DISCARD_FACTOR = 8;

/** TOO_LARGE. The response should close the connection, because the rest of the body is too large to be discarded. */
export class UnreadBodyError extends ServiceError {}

interface BodyLimits {
  readonly maxBytes: number;
  readonly traffic: Traffic;
}

type OpenHold = (onEvicted: () => void) => Hold;

/** A body that arrives in pieces. One of `onBody` and `onError` is called once. */
function incomingBody(
  maxBytes: number,
  openHold: OpenHold,
  onBody: (body: Buffer) => void,
  onError: (error: ServiceError) => void,
) {
  let pieces: Uint8Array[] = [];
  let size = 0;
  let countedBytes = 0;
  let hold: Hold | null = null;
  let isOver = false;
  const fail = (error: ServiceError) => {
    if (isOver) return;
    isOver = true;
    pieces = [];
    hold?.release();
    onError(error);
  };
  const onEvicted = () => fail(noRoom());
  return {
    /** Returns false if the rest must not be read, because it is too large to be discarded. */
    add(piece: Uint8Array): boolean {
      size += piece.length;
      if (size > maxBytes) fail(tooLarge(maxBytes));
      if (isOver) return size <= maxBytes * DISCARD_FACTOR;
      pieces.push(piece);
      countedBytes += piece.length + PIECE_BYTES;
      if (countedBytes <= UNCOUNTED_BYTES) return true;
      hold ??= openHold(onEvicted);
      if (!hold.resize(countedBytes)) onEvicted();
      return true;
    },
    complete() {
      if (isOver) return;
      isOver = true;
      // A complete body cannot be evicted.
      hold?.pin();
      onBody(Buffer.concat(pieces));
    },
    abort() {
      // Complete requests close as well: the error is created only if it is used.
      if (!isOver) fail(new ServiceError('INVALID', 'The request ended before its body was complete'));
    },
  };
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
  const body = incomingBody(maxBytes, (onEvicted) => traffic.receiving(req, res, onEvicted), onBody, onError);
  req.on('data', (piece: Buffer) => {
    if (!body.add(piece)) req.destroy();
  });
  req.on('end', body.complete).on('error', body.abort).on('close', body.abort);
}

/**
 * Like `readBody`, for a `Request` of the given network. `release` must be called when the response is complete: until
 * then the bytes are counted.
 */
export function receiveBody({ headers, body: stream }: Request, network: string, { maxBytes, traffic }: BodyLimits) {
  return new Promise<{ readonly bytes: Buffer; readonly release: () => void }>((resolve, reject) => {
    const refusal = announced(headers.get('content-length'), maxBytes);
    if (refusal !== null) throw refusal;
    let release = () => {};
    const openHold: OpenHold = (onEvicted) => {
      const hold = traffic.requests.hold(network, onEvicted);
      release = () => hold.release();
      return hold;
    };
    const body = incomingBody(maxBytes, openHold, (bytes) => resolve({ bytes, release }), reject);
    if (stream === null) body.complete();
    else readPieces(stream.getReader(), body.add).then(body.complete).catch(body.abort);
  });
}

async function readPieces(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  add: (piece: Uint8Array) => boolean,
): Promise<void> {
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!add(next.value)) await reader.cancel();
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

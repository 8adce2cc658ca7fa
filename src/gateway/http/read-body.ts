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
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > maxBytes) {
    const refusal = tooLarge(maxBytes);
    const isUnread = announced > maxBytes * DISCARD_FACTOR;
    onError(isUnread ? new UnreadBodyError(refusal.code, refusal.message, { info: { maxBytes } }) : refusal);
    return;
  }
  let pieces: Buffer[] = [];
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
  const count = (piece: Buffer) => {
    countedBytes += piece.length + PIECE_BYTES;
    if (countedBytes <= UNCOUNTED_BYTES) return;
    hold ??= traffic.receiving(req, res, onEvicted);
    if (!hold.resize(countedBytes)) onEvicted();
  };
  const onEarlyEnd = () => {
    // Complete requests close as well: the error is created only if it is used.
    if (!isOver) fail(new ServiceError('INVALID', 'The request ended before its body was complete'));
  };
  req.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size > maxBytes * DISCARD_FACTOR) req.destroy();
    else if (size > maxBytes) fail(tooLarge(maxBytes));
    else if (!isOver) {
      pieces.push(piece);
      count(piece);
    }
  });
  req.on('end', () => {
    if (isOver) return;
    isOver = true;
    // A complete body cannot be evicted.
    hold?.pin();
    onBody(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces));
  });
  req.on('error', onEarlyEnd);
  req.on('close', onEarlyEnd);
}

export const bodyOf = (req: IncomingMessage, res: ServerResponse, limits: BodyLimits): Promise<Buffer> =>
  new Promise((resolve, reject) => readBody(req, res, limits, resolve, reject));

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

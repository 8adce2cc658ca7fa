import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Exchange } from './exchange.ts';

/**
 * Writes an answer piece by piece: one piece is held, the next is made when the caller has taken the one before, and other requests
 * get their turn in between.
 *
 * An error can no longer be told once the answer has begun: the connection is cut, so that a short answer is never taken for a whole
 * one, and the error thrown on. A caller that goes away ends it quietly.
 */
export async function streamText(
  exchange: Exchange,
  status: number,
  total: number | undefined,
  pieces: AsyncIterable<string>,
): Promise<void> {
  const res = exchange.open(status, total);
  if (exchange.isHead) {
    res.end();
    return;
  }
  try {
    for await (const piece of pieces) {
      if (res.write(piece)) await setImmediate();
      else await drained(res);
      if (res.destroyed) return;
    }
    res.end();
  } catch (error) {
    if (res.destroyed) return;
    res.destroy();
    throw error;
  }
}

/** Until more can be written, or nobody reads any more. */
export async function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return;
  const stop = new AbortController();
  try {
    await Promise.race([once(res, 'drain', { signal: stop.signal }), once(res, 'close', { signal: stop.signal })]);
  } finally {
    stop.abort();
  }
}

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Exchange } from './exchange.ts';

/**
 * Writes a response piece by piece. The next piece is read when the client has received the previous one, and other
 * requests are handled between pieces.
 *
 * After an error the connection is closed, because the response has started: the client must not take it for complete.
 * The error is rethrown. If the client disconnects, the function returns without an error.
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

/** Waits until more can be written or the connection is closed. */
export async function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return;
  const stop = new AbortController();
  try {
    await Promise.race([once(res, 'drain', { signal: stop.signal }), once(res, 'close', { signal: stop.signal })]);
  } finally {
    stop.abort();
  }
}

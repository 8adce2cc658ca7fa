import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Exchange } from './exchange.ts';

/**
 * Writes a response piece by piece, as fast as the client receives it.
 *
 * After an error the connection is closed, so that the client does not take the response for complete, and the error is
 * rethrown. If the client disconnects, the function returns without an error.
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

export async function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return;
  const stop = new AbortController();
  try {
    await Promise.race([once(res, 'drain', { signal: stop.signal }), once(res, 'close', { signal: stop.signal })]);
  } finally {
    stop.abort();
  }
}

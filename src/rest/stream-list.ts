import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { ExecutionResult } from 'graphql';
import type { Exchange } from './exchange.ts';
import { follow } from './pick.ts';

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

/** One page of a list: a JSON array, and where the next one begins. */
export interface ListPage extends PageInfo {
  readonly text: string;
}

const LAST: PageInfo = { hasNextPage: false, endCursor: null };

export function pageOf({ data }: ExecutionResult, steps: readonly string[] | null): PageInfo {
  if (steps === null) return LAST;
  return (follow(data, steps) as PageInfo | null | undefined) ?? LAST;
}

/**
 * Writes a whole list as one JSON array, page by page: at most one page is held, the next is asked for when the caller has taken the
 * one before, and other requests get their turn in between.
 *
 * An error can no longer be told once the answer has begun: the connection is cut, so that a short list is never taken for a whole
 * one, and the error thrown on. A caller that goes away ends it quietly.
 */
export async function streamList(
  exchange: Exchange,
  status: number,
  total: number | undefined,
  first: ListPage,
  nextPage: (after: string | null) => Promise<ListPage>,
): Promise<void> {
  const res = exchange.open(status, total);
  if (exchange.isHead) {
    res.end();
    return;
  }
  try {
    let page = first;
    let separator = page.text === '[]' ? '' : ',';
    let room = res.write(page.text.slice(0, -1));
    while (page.hasNextPage) {
      if (room) await setImmediate();
      else await drained(res);
      if (res.destroyed) return;
      const after = page.endCursor;
      page = await nextPage(after);
      if (page.hasNextPage && page.endCursor === after) throw new Error('The list does not move on');
      if (page.text === '[]') continue;
      room = res.write(separator + page.text.slice(1, -1));
      separator = ',';
    }
    res.end(']');
  } catch (error) {
    if (res.destroyed) return;
    res.destroy();
    throw error;
  }
}

/** Until more can be written, or nobody reads any more. */
async function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return;
  const stop = new AbortController();
  try {
    await Promise.race([once(res, 'drain', { signal: stop.signal }), once(res, 'close', { signal: stop.signal })]);
  } finally {
    stop.abort();
  }
}

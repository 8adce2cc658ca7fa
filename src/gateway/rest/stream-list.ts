import type { ExecutionResult } from 'graphql';
import { follow } from './pick.ts';

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

/** One page of a list: a JSON array and its PageInfo. */
export interface ListPage extends PageInfo {
  readonly text: string;
}

const LAST: PageInfo = { hasNextPage: false, endCursor: null };

export function pageOf({ data }: ExecutionResult, steps: readonly string[] | null): PageInfo {
  if (steps === null) return LAST;
  return (follow(data, steps) as PageInfo | null | undefined) ?? LAST;
}

/** A complete list as one JSON array, in pieces. At most one page is in memory. */
export async function* listPieces(
  first: ListPage,
  nextPage: (after: string | null) => Promise<ListPage>,
): AsyncGenerator<string, void, void> {
  let page = first;
  let separator = page.text === '[]' ? '' : ',';
  yield page.text.slice(0, -1);
  while (page.hasNextPage) {
    const after = page.endCursor;
    page = await nextPage(after);
    if (page.hasNextPage && page.endCursor === after) throw new Error('The cursor of the next page did not change');
    if (page.text === '[]') continue;
    yield separator + page.text.slice(1, -1);
    separator = ',';
  }
  yield ']';
}

import type { ExecutionResult } from 'graphql';
import { follow } from './response-body.ts';
import type { RouteLists } from './route.ts';

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

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

type Fields = Record<string, unknown>;

interface LongList {
  readonly within: string;
  readonly entry: Readonly<Fields>;
  readonly items: readonly unknown[];
  readonly after: string | null;
}

export type FetchPage = (list: LongList, first: number, after: string | null) => Promise<Fields>;

interface ListOptions extends Pick<RouteLists, 'key' | 'within' | 'pageSize'> {
  readonly wanted: number;
}

/** Placeholder of a list in the JSON text. No topic, name or other text contains NUL. */
const PLACEHOLDER = /"\\u0000(\d+)"/;
const placeholderOf = (index: number): string => `\0${index}`;

/**
 * Removes `pageInfo` from a body. Returns null if every list has one page, otherwise a function that creates the body
 * in pieces.
 */
export function longLists(
  body: unknown,
  options: ListOptions,
): ((fetchPage: FetchPage) => AsyncGenerator<string>) | null {
  const lists: LongList[] = [];
  for (const entry of (Array.isArray(body) ? body : [body]) as Fields[]) {
    for (const within of options.within) {
      const part = entry[within] as Fields | null | undefined;
      if (part == null) continue;
      const { items, hasNextPage, endCursor } = pageIn(part, options.key);
      part.pageInfo = undefined;
      if (!hasNextPage || items.length >= options.wanted) continue;
      part[options.key] = placeholderOf(lists.length);
      lists.push({ within, entry, items, after: endCursor });
    }
  }
  if (lists.length === 0) return null;
  const texts = JSON.stringify(body).split(PLACEHOLDER);
  return (fetchPage) => pieces(texts, lists, options, fetchPage);
}

/** `texts` are the parts of the JSON text around the lists, alternating with the index of a list. */
async function* pieces(
  texts: readonly string[],
  lists: readonly LongList[],
  { key, pageSize, wanted }: ListOptions,
  fetchPage: FetchPage,
): AsyncGenerator<string> {
  for (const [index, text] of texts.entries()) {
    const list = index % 2 === 1 ? lists[Number(text)] : undefined;
    if (list === undefined) {
      yield text;
      continue;
    }
    let left = wanted - list.items.length;
    const first: ListPage = { text: JSON.stringify(list.items), hasNextPage: true, endCursor: list.after };
    yield* listPieces(first, async (after) => {
      const { items, hasNextPage, endCursor } = pageIn(await fetchPage(list, Math.min(pageSize, left), after), key);
      left -= items.length;
      return { text: JSON.stringify(items), hasNextPage: hasNextPage && left > 0, endCursor };
    });
  }
}

function pageIn(part: Fields, key: string) {
  const { hasNextPage, endCursor } = part.pageInfo as Omit<ListPage, 'text'>;
  return { items: part[key] as readonly unknown[], hasNextPage, endCursor };
}

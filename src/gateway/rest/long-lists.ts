import type { RouteLists } from './route.ts';
import { type ListPage, listPieces } from './stream-list.ts';

type Fields = Record<string, unknown>;

interface LongList {
  readonly within: string;
  readonly entry: Readonly<Fields>;
  readonly items: readonly unknown[];
  readonly after: string | null;
}

export type FetchPage = (list: LongList, first: number, after: string | null) => Promise<Fields>;

interface ListOptions extends Pick<RouteLists, 'key' | 'within' | 'pageSize'> {
  /** Maximum number of entries of each list. */
  readonly wanted: number;
}

/** Placeholder of a list in the JSON text. No topic, name or other text contains NUL. */
const PLACEHOLDER = /"\\u0000(\d+)"/;
const placeholderOf = (index: number): string => `\0${index}`;

/**
 * Removes `pageInfo` from a body. Returns null if every list has one page. Otherwise returns a function that creates
 * the body in pieces; besides the first pages, one page of one list is in memory.
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

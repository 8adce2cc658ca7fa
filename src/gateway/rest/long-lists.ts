import type { RouteLists } from './route.ts';
import { type ListPage, listPieces } from './stream-list.ts';

type Fields = Record<string, unknown>;

/** A list of a body that goes on after its first page. */
interface LongList {
  readonly within: string;
  readonly entry: Readonly<Fields>;
  readonly items: readonly unknown[];
  readonly after: string | null;
}

/** Asks for the next page of a list: an object with the list, and `pageInfo`. */
export type AskNext = (list: LongList, first: number, after: string | null) => Promise<Fields>;

interface Shape extends Pick<RouteLists, 'key' | 'within' | 'pageSize'> {
  /** Of each list. */
  readonly wanted: number;
}

/** NUL is in no topic, name or text of ours; it stands where a list is to be written. */
const PLACE = /"\\u0000(\d+)"/;
const placeOf = (index: number): string => `\0${index}`;

/**
 * Takes what is not told out of a body, and the lists that go on after their first page. Null: none does, and the body is whole. Else
 * the whole body in pieces; at most one page of one list is held then, beside the first pages.
 */
export function longLists(body: unknown, shape: Shape): ((askNext: AskNext) => AsyncGenerator<string>) | null {
  const lists: LongList[] = [];
  for (const entry of (Array.isArray(body) ? body : [body]) as Fields[]) {
    for (const within of shape.within) {
      const part = entry[within] as Fields | null | undefined;
      if (part == null) continue;
      const { items, hasNextPage, endCursor } = pageIn(part, shape.key);
      part.pageInfo = undefined;
      if (!hasNextPage || items.length >= shape.wanted) continue;
      part[shape.key] = placeOf(lists.length);
      lists.push({ within, entry, items, after: endCursor });
    }
  }
  if (lists.length === 0) return null;
  const texts = JSON.stringify(body).split(PLACE);
  return (askNext) => pieces(texts, lists, shape, askNext);
}

/** `texts`: what is around the lists, with the index of each list between. */
async function* pieces(
  texts: readonly string[],
  lists: readonly LongList[],
  { key, pageSize, wanted }: Shape,
  askNext: AskNext,
): AsyncGenerator<string> {
  for (const [place, text] of texts.entries()) {
    const list = place % 2 === 1 ? lists[Number(text)] : undefined;
    if (list === undefined) {
      yield text;
      continue;
    }
    let left = wanted - list.items.length;
    const first: ListPage = { text: JSON.stringify(list.items), hasNextPage: true, endCursor: list.after };
    yield* listPieces(first, async (after) => {
      const { items, hasNextPage, endCursor } = pageIn(await askNext(list, Math.min(pageSize, left), after), key);
      left -= items.length;
      return { text: JSON.stringify(items), hasNextPage: hasNextPage && left > 0, endCursor };
    });
  }
}

function pageIn(part: Fields, key: string) {
  const { hasNextPage, endCursor } = part.pageInfo as Omit<ListPage, 'text'>;
  return { items: part[key] as readonly unknown[], hasNextPage, endCursor };
}

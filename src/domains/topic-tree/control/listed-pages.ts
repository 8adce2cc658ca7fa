import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { type ListedTopics, listTopics, type TopicsPage } from './topic-control.ts';

export interface ListedPagesOptions {
  /** Of each kind: no page begins beyond. */
  readonly maxTopics: number;
  /** Epoch milliseconds after which no page is asked for. */
  readonly endsAt: number;
}

const FIRST_PAGE = 1_000;
const LARGEST_PAGE = 10_000;
/** That a page aims at: brokers silently drop answers above their packet size. */
const PAGE_BYTES = 500_000;
/** Ends a list whose broker never says that it is over. */
const MAX_PAGES = 1_000;
/** Pages in a row that begin as an earlier one did. One is no more than new topics of others before its place. */
const MAX_REPEATED = 3;

/**
 * `listTopics` page by page, both lists at once. The size of a page follows that of the topics seen; one that gets no answer is asked
 * for again in tenths. Returns true where the lists were read to their end, or as far as the broker tells them; false: up to a bound. A
 * broker that does not know pages tells all in the first, or the same again.
 *
 * Errors: those of the caller.
 */
export async function* listedPages(
  caller: ControlCaller,
  { maxTopics, endsAt }: ListedPagesOptions,
): AsyncGenerator<TopicsPage, boolean, void> {
  let offset = 0;
  let size = FIRST_PAGE;
  let repeated = 0;
  /** What pages began with. */
  const beginnings = new Set<string>();
  for (let asked = 0; asked < MAX_PAGES && offset < maxTopics; asked += 1) {
    if (Date.now() > endsAt) return false;
    let page: TopicsPage;
    try {
      page = await listTopics(caller, { count: size, offset });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'BROKER_TIMEOUT' || size === 1) throw error;
      size = Math.ceil(size / 10);
      continue;
    }
    yield page;
    const lists = [page.published, page.subscribed].filter((list) => list !== null);
    const longest = Math.max(0, ...lists.map(({ length }) => length));
    // Longer than was asked for: it is all there is.
    if (longest === 0 || longest > size) return true;
    if (lists.every((list) => isLast(list, offset, size))) return true;
    const first = JSON.stringify(lists.map(({ topics }) => topics[0]?.topic));
    repeated = beginnings.has(first) ? repeated + 1 : 0;
    if (repeated === MAX_REPEATED) return false;
    beginnings.add(first);
    offset += longest;
    size = Math.min(LARGEST_PAGE, Math.max(1, Math.floor(PAGE_BYTES / bytesEach(lists, longest))));
  }
  return false;
}

/** Whether `count` is of all or of the page is not documented: it is of all where it is more than came. */
function isLast({ count, length }: ListedTopics, offset: number, size: number): boolean {
  if (length === 0) return true;
  return count !== null && count > length ? offset + length >= count : length < size;
}

/** Of one place of the lists. */
function bytesEach(lists: readonly ListedTopics[], places: number): number {
  let bytes = 1;
  for (const { topics } of lists) {
    for (const { topic, payload } of topics) bytes += 30 + topic.length + (payload?.data.length ?? 0);
  }
  return bytes / places;
}

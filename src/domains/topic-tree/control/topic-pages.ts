import {
  type ListedTopics,
  listTopics,
  type TopicsPage,
} from '../../../data-plane/topic-tree/control/topic-control.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

const FIRST_PAGE = 1_000;
const LARGEST_PAGE = 10_000;
/** Target size of a page. Brokers silently drop responses that exceed their maximum packet size. */
const PAGE_BYTES = 500_000;
/** Maximum number of pages, for brokers that never report the end of a list. */
const MAX_PAGES = 1_000;
/** Maximum number of consecutive repeated pages. A single repetition may result from new topics. */
const MAX_REPEATED = 3;

/**
 * Reads both lists of `listTopics` page by page. If a page times out, it is requested again with a tenth of the size.
 * Brokers without paging return everything in the first page, or the same page again. Returns whether the lists were
 * read to their end.
 */
export async function* readTopicPages(
  caller: ControlCaller,
  maxTopics: number,
  endsAt: number,
): AsyncGenerator<TopicsPage, boolean, void> {
  let offset = 0;
  let size = FIRST_PAGE;
  let repeated = 0;
  /** First topics of the pages read so far. */
  const firstTopics = new Set<string>();
  for (let requests = 0; requests < MAX_PAGES && offset < maxTopics; requests += 1) {
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
    // The broker ignores the page size, so the list is complete.
    if (longest === 0 || longest > size) return true;
    if (lists.every((list) => isLast(list, offset, size))) return true;
    const first = JSON.stringify(lists.map(({ topics }) => topics[0]?.topic));
    repeated = firstTopics.has(first) ? repeated + 1 : 0;
    if (repeated === MAX_REPEATED) return false;
    firstTopics.add(first);
    offset += longest;
    size = Math.min(LARGEST_PAGE, Math.max(1, Math.floor(PAGE_BYTES / bytesEach(lists, longest))));
  }
  return false;
}

/** The documentation does not say whether `count` is the length of the list or of the page. */
function isLast({ count, length }: ListedTopics, offset: number, size: number): boolean {
  if (length === 0) return true;
  return count !== null && count > length ? offset + length >= count : length < size;
}

function bytesEach(lists: readonly ListedTopics[], positions: number): number {
  let bytes = 1;
  for (const { topics } of lists) {
    for (const { topic, payload } of topics) bytes += 30 + topic.length + (payload?.data.length ?? 0);
  }
  return bytes / positions;
}

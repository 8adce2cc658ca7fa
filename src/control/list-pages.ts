import { ServiceError } from '../errors.ts';
import type { ControlApi } from './envelope.ts';
import type { ControlCaller } from './plugin.ts';

export interface ListPagesOptions {
  /** Fields of the command beside `count` and `offset`, such as `verbose`. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Where to start. Default 0. */
  readonly offset?: number;
  /** How many items are wanted; -1: all. */
  readonly count?: number;
  /** Items of the first page. Default 100. */
  readonly firstPage?: number;
  /** Size that later pages aim at. Default 500 kB: a broker silently drops answers above its packet size. */
  readonly pageBytes?: number;
}

export interface ListedPages<T> {
  readonly items: T[];
  readonly totalCount: number;
  /** `data` of each page, for what a list carries beside its items. */
  readonly pages: readonly Readonly<Record<string, unknown>>[];
}

const LARGEST_PAGE = 10_000;
/** Ends a list whose broker never says that it is over. */
const MAX_PAGES = 10_000;

/**
 * A `list…` command page by page. The size of a page follows the size of the items seen; one that gets no answer is asked for
 * again in halves. Items are not checked: `key` names the array in `data`.
 */
export async function listPages<T = unknown>(
  caller: ControlCaller,
  api: ControlApi,
  command: string,
  key: string,
  { fields = {}, offset = 0, count = -1, firstPage = 100, pageBytes = 500_000 }: ListPagesOptions = {},
): Promise<ListedPages<T>> {
  const items: T[] = [];
  const pages: Readonly<Record<string, unknown>>[] = [];
  let totalCount = 0;
  let size = firstPage;
  for (let asked = 0; asked < MAX_PAGES; asked++) {
    const wanted = count < 0 ? size : Math.min(size, count - items.length);
    // Never 0: brokers answer one item then.
    if (wanted < 1) break;
    let data: unknown;
    try {
      data = await caller.call(api, command, { ...fields, count: wanted, offset: offset + items.length });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'BROKER_TIMEOUT' || size <= firstPage) throw error;
      size = Math.max(firstPage, Math.floor(wanted / 2));
      continue;
    }
    const page = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
    const found: unknown = page[key];
    const list = (Array.isArray(found) ? found.slice(0, wanted) : []) as T[];
    pages.push(page);
    items.push(...list);
    if (typeof page.totalCount === 'number') totalCount = page.totalCount;
    if (list.length === 0 || offset + items.length >= totalCount) break;
    size = pageSize(list, pageBytes);
  }
  return { items, totalCount: Math.max(totalCount, offset + items.length), pages };
}

/** By the size of a few items; the whole page would cost as much as the broker's answer did. */
function pageSize(list: readonly unknown[], pageBytes: number): number {
  const sample = list.slice(0, 5);
  const bytes = Math.max(1, JSON.stringify(sample).length / sample.length);
  return Math.min(LARGEST_PAGE, Math.max(1, Math.floor(pageBytes / bytes)));
}

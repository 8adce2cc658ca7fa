import { ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from './envelope.ts';
import type { ControlCaller } from './plugin.ts';

export interface ListPagesOptions<T = unknown> {
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
  /** Most items; a longer list is TOO_LARGE. Default: any number. */
  readonly maxItems?: number;
  /** Most characters of all items together, by the size of a few; a longer list is TOO_LARGE. Default: any number. */
  readonly maxBytes?: number;
  /** Epoch milliseconds after which no further page is asked for. Default: none. */
  readonly endsAt?: number;
  /**
   * What an item is known by. Then each page begins with the last item of the one before: if it is not there, the list has
   * moved, and `isSteady` says so. A list that brings the same again, page after page, is given up. Null: without a name.
   */
  readonly nameOf?: (item: T) => unknown;
}

export interface ListedPages<T> {
  readonly items: T[];
  readonly totalCount: number;
  /** False: the list changed while it was read, so that an item may be missing or there twice. */
  readonly isSteady: boolean;
  /** `data` of each page, for what a list carries beside its items. */
  readonly pages: readonly Readonly<Record<string, unknown>>[];
}

const LARGEST_PAGE = 10_000;
/** Ends a list whose broker never says that it is over. */
const MAX_PAGES = 10_000;
/** Pages in a row that end where an earlier one ended. A few are no more than new entries of others before their place. */
const MAX_REPEATED = 5;

/**
 * A `list…` command page by page. The size of a page follows the size of the items seen; one that gets no answer is asked for
 * again in halves, down to one item. Items are not checked: `key` names the array in `data`. Errors: those of the caller, TOO_LARGE,
 * BROKER_REJECTED for a list that does not go on, BROKER_TIMEOUT after `endsAt`.
 */
export async function listPages<T = unknown>(
  caller: Pick<ControlCaller, 'call'>,
  api: ControlApi,
  command: string,
  key: string,
  options: ListPagesOptions<T> = {},
): Promise<ListedPages<T>> {
  const { fields = {}, offset = 0, count = -1, firstPage = 100, pageBytes = 500_000, nameOf } = options;
  const { maxItems = Infinity, maxBytes = Infinity, endsAt = Infinity } = options;
  /** Of the last item of each page. */
  const names = new Set<unknown>();
  let repeated = 0;
  const items: T[] = [];
  const pages: Readonly<Record<string, unknown>>[] = [];
  let totalCount = 0;
  let isSteady = true;
  let size = firstPage;
  let bytes = 0;
  for (let asked = 0; asked < MAX_PAGES; asked++) {
    const wanted = count < 0 ? size : Math.min(size, count - items.length);
    // Never 0: brokers answer one item then.
    if (wanted < 1) break;
    if (Date.now() > endsAt) throw new ServiceError('BROKER_TIMEOUT', `${command} of ${api} took too long to read`);
    const overlap = nameOf !== undefined && items.length > 0 ? 1 : 0;
    let data: unknown;
    try {
      const place = { count: wanted + overlap, offset: offset + items.length - overlap };
      data = await caller.call(api, command, { ...fields, ...place });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'BROKER_TIMEOUT' || wanted === 1) throw error;
      size = Math.floor(wanted / 2);
      continue;
    }
    const page = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
    const found: unknown = page[key];
    const list = (Array.isArray(found) ? found.slice(0, wanted + overlap) : []) as T[];
    if (nameOf !== undefined && overlap > 0) {
      const [again] = list.splice(0, 1);
      isSteady &&= again !== undefined && nameOf(again) === nameOf(items[items.length - 1] as T);
    }
    pages.push(page);
    for (const item of list) items.push(item);
    if (nameOf !== undefined && list.length > 0) {
      const name = nameOf(list[list.length - 1] as T);
      repeated = name !== null && names.has(name) ? repeated + 1 : 0;
      names.add(name);
      if (repeated === MAX_REPEATED) {
        throw new ServiceError('BROKER_REJECTED', `The broker repeats entries of ${command} of ${api} without end`);
      }
    }
    if (typeof page.totalCount === 'number') {
      isSteady &&= pages.length === 1 || page.totalCount === totalCount;
      totalCount = page.totalCount;
    }
    if (totalCount > maxItems || items.length > maxItems) {
      throw new ServiceError('TOO_LARGE', `${command} of ${api} has more than ${maxItems} entries`);
    }
    if (list.length === 0) break;
    const bytesEach = sizeOf(list);
    bytes += bytesEach * list.length;
    if (bytes > maxBytes) throw new ServiceError('TOO_LARGE', `${command} of ${api} has more than ${maxBytes} bytes`);
    if (offset + items.length >= totalCount) break;
    size = Math.min(LARGEST_PAGE, Math.max(1, Math.floor(pageBytes / bytesEach)));
  }
  // From an offset beyond the end nothing was seen.
  const seen = items.length === 0 ? 0 : offset + items.length;
  return { items, totalCount: Math.max(totalCount, seen), isSteady, pages };
}

const UNWRITABLE = 500_000;

/** Of one item, by a few of them; the whole page would cost as much as the broker's answer did. */
function sizeOf(list: readonly unknown[]): number {
  const sample = list.slice(0, 5);
  try {
    return Math.max(1, JSON.stringify(sample).length / sample.length);
  } catch {
    // Nested deeper than it can be written.
    return UNWRITABLE;
  }
}

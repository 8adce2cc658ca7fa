import { ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from './envelope.ts';
import type { ControlCaller } from './plugin.ts';

interface ListPagesOptions<T = unknown> {
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly offset?: number;
  /** -1: all. Default: -1. */
  readonly count?: number;
  /** In items. Default: 100. */
  readonly firstPage?: number;
  /** Of later pages. Default: 500,000. A broker silently drops responses above its packet size. */
  readonly pageBytes?: number;
  /** A longer list is TOO_LARGE. Default: unlimited. */
  readonly maxItems?: number;
  /** Characters, estimated from samples; a longer list is TOO_LARGE. Default: unlimited. */
  readonly maxBytes?: number;
  /** Epoch milliseconds after which no further page is requested. Default: none. */
  readonly endsAt?: number;
  /**
   * If set, each page overlaps with the last item of the previous one; if that differs, `isSteady` is false. A list
   * that repeats the same pages is refused.
   */
  readonly nameOf?: (item: T) => unknown;
}

export interface ListedPages<T> {
  readonly items: T[];
  readonly totalCount: number;
  /** Whether the list was unchanged while it was read. If not, items may be missing or repeated. */
  readonly isSteady: boolean;
  readonly pages: readonly Readonly<Record<string, unknown>>[];
}

const LARGEST_PAGE = 10_000;
const MAX_PAGES = 10_000;
/** Consecutive pages that may end with the last item of an earlier page, because items were inserted. */
const MAX_REPEATED = 5;

/**
 * Executes a `list…` command page by page. A page without a response is requested again with half the size, down to one
 * item. `key` names the array in `data`; items are not validated.
 *
 * Errors: as `ControlCaller`; TOO_LARGE; BROKER_REJECTED if the list repeats itself; BROKER_TIMEOUT after `endsAt`.
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
    // Never 0: brokers then return one item.
    if (wanted < 1) break;
    if (Date.now() > endsAt) throw new ServiceError('BROKER_TIMEOUT', `${command} of ${api} took too long`);
    const overlap = nameOf !== undefined && items.length > 0 ? 1 : 0;
    let data: unknown;
    try {
      const position = { count: wanted + overlap, offset: offset + items.length - overlap };
      data = await caller.call(api, command, { ...fields, ...position });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'BROKER_TIMEOUT' || wanted === 1) throw error;
      size = Math.floor(wanted / 2);
      continue;
    }
    const page = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
    const found: unknown = page[key];
    const list = (Array.isArray(found) ? found.slice(0, wanted + overlap) : []) as T[];
    if (nameOf !== undefined && overlap > 0) {
      const [overlapping] = list.splice(0, 1);
      isSteady &&= overlapping !== undefined && nameOf(overlapping) === nameOf(items[items.length - 1] as T);
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
      throw new ServiceError('TOO_LARGE', `The response to ${command} (${api}) has more than ${maxItems} entries`);
    }
    if (list.length === 0) break;
    const bytesEach = sizeOf(list);
    bytes += bytesEach * list.length;
    if (bytes > maxBytes)
      throw new ServiceError('TOO_LARGE', `The response to ${command} (${api}) has more than ${maxBytes} bytes`);
    if (offset + items.length >= totalCount) break;
    size = Math.min(LARGEST_PAGE, Math.max(1, Math.floor(pageBytes / bytesEach)));
  }
  // An offset beyond the end proves nothing about the total.
  const seen = items.length === 0 ? 0 : offset + items.length;
  return { items, totalCount: Math.max(totalCount, seen), isSteady, pages };
}

const UNKNOWN_SIZE = 500_000;

/** Estimates the size of an item from a sample. Serializing the whole page would cost as much as parsing it did. */
function sizeOf(list: readonly unknown[]): number {
  const sample = list.slice(0, 5);
  try {
    return Math.max(1, JSON.stringify(sample).length / sample.length);
  } catch {
    // Nested too deeply for JSON.stringify.
    return UNKNOWN_SIZE;
  }
}

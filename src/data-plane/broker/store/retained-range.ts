import { hasWildcard } from '../../../protocol/mqtt/filter-match.ts';

/** Topics from `from` (inclusive) to `to` (exclusive, `null`: all) by their bytes in UTF-8, as SQLite compares text. */
export interface TopicRange {
  readonly from: string;
  readonly to: string | null;
  /** Topic filters that match no topic outside of the range. */
  readonly filters: readonly string[];
  /** Whether most topics of the range match, because a filter is its prefix and `#`. */
  readonly isDense: boolean;
}

/** The ranges of topics that filters may match. Filters with the same levels before their wildcards share a range. */
export function rangesOf(filters: readonly string[]): TopicRange[] {
  const ranges = new Map<string, { from: string; to: string | null; filters: string[]; isDense: boolean }>();
  const add = (prefix: string, exact: boolean, filter: string) => {
    const key = exact ? prefix : `${prefix}#`;
    let range = ranges.get(key);
    if (!range) {
      range = { from: prefix, to: exact ? `${prefix}\0` : endOf(prefix), filters: [], isDense: exact };
      ranges.set(key, range);
    }
    range.filters.push(filter);
    if (filter === `${prefix}#`) range.isDense = true;
  };
  for (const filter of filters) {
    const prefix = prefixOf(filter);
    if (!hasWildcard(filter)) add(filter, true, filter);
    else {
      // `a/#` also matches `a`, which is not in the range of `a/`.
      if (prefix !== '' && filter === `${prefix}#`) add(prefix.slice(0, -1), true, filter);
      add(prefix, false, filter);
    }
  }
  return [...ranges.values()];
}

/** The levels before the first wildcard with the slash behind them. */
function prefixOf(filter: string): string {
  const at = filter.search(/[+#]/);
  return at === -1 ? filter : filter.slice(0, at);
}

/** `0` is the character behind the slash at the end of the prefix. */
const endOf = (prefix: string): string | null => (prefix === '' ? null : `${prefix.slice(0, -1)}0`);

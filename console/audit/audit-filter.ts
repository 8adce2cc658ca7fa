import { useSearchParams } from 'wouter';
import { type Cursor, rangeOf, useCursor } from '../ui/pager.tsx';

export const RESULTS = ['DONE', 'REFUSED', 'FAILED', 'UNKNOWN'] as const;
const TEXT_KEYS = ['search', 'operation', 'actorName', 'targetId'] as const;
/** Entries of a page. */
const PAGE = 100;
const TIME_KEYS = ['from', 'to'] as const;

type Filter = Partial<Record<(typeof TEXT_KEYS)[number] | (typeof TIME_KEYS)[number], string>> & {
  result?: (typeof RESULTS)[number];
  isPreview?: false;
};

interface Wanted {
  readonly filter: Filter;
  readonly cursor: Cursor;
  readonly onCursor: (cursor: Cursor) => void;
  readonly range: ReturnType<typeof rangeOf>;
}

/** The filter and the page in the address of the screen. */
export function useAuditFilter(): Wanted {
  const [search] = useSearchParams();
  const filter: Filter = {};
  for (const key of [...TEXT_KEYS, ...TIME_KEYS]) {
    const value = search.get(key);
    if (value) filter[key] = value;
  }
  const result = RESULTS.find((known) => known === search.get('result'));
  if (result) filter.result = result;
  if (search.get('previews') !== 'with') filter.isPreview = false;
  const { cursor, onCursor } = useCursor();
  return { filter, cursor, onCursor, range: rangeOf(cursor, PAGE) };
}

import { useSearchParams } from 'wouter';

export const RESULTS = ['DONE', 'REFUSED', 'FAILED', 'UNKNOWN'] as const;
const TEXT_KEYS = ['search', 'operation', 'actorName', 'targetId'] as const;
const TIME_KEYS = ['from', 'to'] as const;

type Filter = Partial<Record<(typeof TEXT_KEYS)[number] | (typeof TIME_KEYS)[number], string>> & {
  result?: (typeof RESULTS)[number];
};

interface Wanted {
  readonly filter: Filter;
  /** Cursor of the page; `null`: the newest entries. */
  readonly after: string | null;
  readonly search: URLSearchParams;
}

/** The filter in the address of the screen. */
export function useAuditFilter(): Wanted {
  const [search] = useSearchParams();
  const filter: Filter = {};
  for (const key of [...TEXT_KEYS, ...TIME_KEYS]) {
    const value = search.get(key);
    if (value) filter[key] = value;
  }
  const result = RESULTS.find((known) => known === search.get('result'));
  if (result) filter.result = result;
  return { filter, after: search.get('after'), search };
}

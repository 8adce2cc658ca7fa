import type { VariablesOf } from '../graph/graphql.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { CURSOR_KEYS, type Cursor, isFirst, rangeOf, useCursor } from '../ui/pager.tsx';
import type { BROKER_EVENTS, EventKind } from './event-graph.ts';

export const KINDS = [
  'CONNECTED',
  'DISCONNECTED',
  'TAKEN_OVER',
  'REFUSED',
  'LIMIT_EXCEEDED',
  'CLIENT_ID_CONFLICT',
] as const satisfies readonly EventKind[];

/** Names in the address of what selects events. */
export const FILTER_KEYS = ['client', 'username', 'kind', 'from', 'to'] as const;
/** Of its page. */
export const PAGE_KEYS = [...CURSOR_KEYS, 'nextTo'] as const;

type Variables = Omit<VariablesOf<typeof BROKER_EVENTS>, 'id'>;

export interface WantedEvents {
  readonly variables: Variables;
  /** Further events are added to the first page, which has the newest ones. */
  readonly cursor: Cursor;
  /** `nearest`: the time of the event next to the cursor. */
  readonly onCursor: (cursor: Cursor, nearest: string | undefined) => void;
  readonly values: URLSearchParams;
}

/**
 * The filter and the page in the address: `after` or `before` is a cursor, and `nextTo` the time of its event.
 *
 * `clientId`: of the only client that is wanted.
 */
export function useWantedEvents(clientId: string | null = null): WantedEvents {
  const { values, set } = useAddressValues();
  const { cursor } = useCursor();
  const of = (key: string) => values.get(key) || null;
  const kind = KINDS.find((known) => known === values.get('kind'));
  const filter = {
    clientId: clientId ?? of('client'),
    username: of('username'),
    kinds: kind ? [kind] : null,
    from: of('from'),
    to: of('to'),
  };
  const onCursor = (next: Cursor, nearest: string | undefined) =>
    // A page without events is one whose search has not found any yet.
    set({ after: '', before: '', ...next, nextTo: isFirst(next) ? '' : (nearest ?? of('nextTo') ?? '') }, 'PUSH');
  return { variables: { filter, ...rangeOf(cursor) }, cursor, onCursor, values };
}

/** Whether the query of an address selects some of the events. */
export const isFiltered = (values: URLSearchParams): boolean => FILTER_KEYS.some((key) => values.get(key));

import type { VariablesOf } from '../graph/graphql.ts';
import { useAddressValues } from '../ui/address-values.ts';
import type { BROKER_EVENTS, EventKind, EventPage } from './event-graph.ts';

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
export const PAGE_KEYS = ['after', 'before', 'nextTo'] as const;

/** Entries of a page. */
const PAGE = 50;

type Variables = Omit<VariablesOf<typeof BROKER_EVENTS>, 'id'>;

export interface WantedEvents {
  readonly variables: Variables;
  /** Whether it is the page of the newest events, to which further ones are added. */
  readonly isNewest: boolean;
  readonly values: URLSearchParams;
}

/**
 * The filter and the page in the address: `after` or `before` is a cursor, and `nextTo` the time of its event.
 *
 * `clientId`: of the only client that is wanted.
 */
export function useWantedEvents(clientId: string | null = null): WantedEvents {
  const { values } = useAddressValues();
  const of = (key: string) => values.get(key) || null;
  const kind = KINDS.find((known) => known === values.get('kind'));
  const [after, before] = [of('after'), of('before')];
  const filter = {
    clientId: clientId ?? of('client'),
    username: of('username'),
    kinds: kind ? [kind] : null,
    from: of('from'),
    to: of('to'),
  };
  const range = before === null ? { first: PAGE, after } : { last: PAGE, before };
  return { variables: { filter, ...range }, isNewest: after === null && before === null, values };
}

/** The query of an address without a page: that of the newest events. */
export function queryOfNewest(values: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams(values);
  for (const key of PAGE_KEYS) query.delete(key);
  return query;
}

/** Whether the query of an address selects some of the events. */
export const isFiltered = (values: URLSearchParams): boolean => FILTER_KEYS.some((key) => values.get(key));

interface Neighbours {
  /** The query of the page of newer events; `null` if there are none. */
  readonly newer: URLSearchParams | null;
  readonly older: URLSearchParams | null;
}

/** The pages before and after a page. */
export function neighboursOf({ edges, pageInfo }: EventPage, values: URLSearchParams): Neighbours {
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = pageInfo;
  const query = (key: 'after' | 'before', cursor: string | null, nearest: string | undefined) => {
    if (cursor === null) return null;
    const found = queryOfNewest(values);
    found.set(key, cursor);
    // A page without events is one whose search has not found any yet.
    const nextTo = nearest ?? values.get('nextTo');
    if (nextTo) found.set('nextTo', nextTo);
    return found;
  };
  return {
    newer: hasPreviousPage ? query('before', startCursor, edges[0]?.node.at) : null,
    older: hasNextPage ? query('after', endCursor, edges.at(-1)?.node.at) : null,
  };
}

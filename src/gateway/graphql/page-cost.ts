import type { PageArguments } from '../../platform/paging.ts';

export const BROKER_QUERY_COST = 10;

/** Cost of reading the whole access control of a broker: about 50 ms for 20,000 accounts. */
export const WHOLE_POLICY_COST = 5_000;

/** Cost of evaluating all rules for one client: up to 100 ms for 8,000 rules of a hundred levels. */
export const EXPLANATION_COST = 2_500;

/** Cost of sorting a list of clients: about 50 ms for 100,000. */
export const SORT_COST = 1_000;

/** Cost of comparing a topic with all subscriptions of a broker: about 100 ms for a million of a plain Mosquitto. */
export const SUBSCRIBER_SEARCH_COST = 2_000;

/** Cost of searching all topics of a broker: about 1.3 s for a million, in a thread that serves all brokers. */
export const SEARCH_COST = 5_000;

const DEFAULT_SIZE = 10;

/** Cost of a page, by the requested number of entries. Without it a connection would count as one object. */
export function pageCost({ first, last }: PageArguments): { field: number; multiplier: number } {
  const requested = Math.min(first ?? Number.POSITIVE_INFINITY, last ?? Number.POSITIVE_INFINITY);
  return { field: 1, multiplier: Number.isFinite(requested) ? requested : DEFAULT_SIZE };
}

/** Cost of the list fields of a page, whose entries `pageCost` has counted by their fields. */
export const COUNTED_BY_PAGE = { field: 0, multiplier: 1 } as const;

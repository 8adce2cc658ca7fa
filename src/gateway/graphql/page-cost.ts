import type { PageArguments } from '../paging.ts';

/** A question that a broker is asked. */
export const QUESTION_COST = 10;

/** A look at everything that a broker's access control holds: some 50 ms for 20,000 accounts. */
export const WHOLE_POLICY_COST = 5_000;

/** A look at everything that decides on one client's access: up to 100 ms for 8000 rules of a hundred levels. */
export const EXPLANATION_COST = 2_500;

/** A look at each topic of a broker: some 1.3 s for a million, in a thread that does this for all brokers, bit by bit. */
export const SEARCH_COST = 5_000;

/** What a list counts whose size nobody said: few have more, and what people ask first must not be refused. */
const UNSAID_SIZE = 10;

/** What a page costs: its entries are as many as were asked for. Without it a connection would count as one object. */
export function pageCost({ first, last }: PageArguments): { field: number; multiplier: number } {
  const asked = Math.min(first ?? Number.POSITIVE_INFINITY, last ?? Number.POSITIVE_INFINITY);
  return { field: 1, multiplier: Number.isFinite(asked) ? asked : UNSAID_SIZE };
}

/** For the lists of a page, whose entries `pageCost` has counted already. */
export const COUNTED_BY_PAGE = { field: 1, multiplier: 1 } as const;

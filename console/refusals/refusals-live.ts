import { ADVISED } from '../advice/use-advice.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';

/** What a broker refuses, as it happens. */
export const REFUSALS = graphql(
  `subscription Refusals($brokerId: ID!, $after: SafeInt) {
  refusals(brokerId: $brokerId, after: $after) {
    kind
    sequence
    removed
    partsLeft
    refusals {
      id
      firstAt
      lastAt
      kind
      topic
      detail
      count
      ...Advised
    }
  }
}`,
  [ADVISED],
);

export type RefusalsEvent = ResultOf<typeof REFUSALS>['refusals'];
export type Refusal = RefusalsEvent['refusals'][number];

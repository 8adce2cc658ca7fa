import { useMemo } from 'react';
import { type Amount, amountsIn, COUNTED } from '../broker/amounts.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import type { Place } from './topic-graph.ts';

const RATES = graphql(
  `query RatesOfTopics($id: ID!) {
  broker(id: $id) {
    messages: topTopics(by: MESSAGES_IN, last: MINUTE, first: 100) { ...Counted }
    bytes: topTopics(by: BYTES_IN, last: MINUTE, first: 100) { ...Counted }
  }
}`,
  [COUNTED],
);

/** Brokers count in steps of ten seconds. */
const EVERY_MS = 10_000;

interface Rates {
  readonly messages: (topic: string) => Amount | null;
  readonly bytes: (topic: string) => Amount | null;
}

/** What was published in the last minute; `null` if the broker does not count it, and of subscriptions. */
export function useRates({ id, kind }: Place): Rates | null {
  const { data, error } = useQuery(RATES, { id }, EVERY_MS);
  const isCounted = error?.code !== 'NOT_SUPPORTED_BY_BROKER' && kind === 'PUBLISHED';
  const counted = isCounted ? data?.broker : null;
  return useMemo(
    () => (counted ? { messages: amountsIn(counted.messages), bytes: amountsIn(counted.bytes) } : null),
    [counted],
  );
}

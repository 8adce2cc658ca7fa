import { useMemo } from 'react';
import { type Amount, amountsIn, COUNTED } from '../broker/amounts.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';

const RATES = graphql(
  `query RatesOfClients($id: ID!) {
  broker(id: $id) {
    messagesIn: topClients(by: MESSAGES_IN, last: MINUTE, first: 100) { ...Counted }
    messagesOut: topClients(by: MESSAGES_OUT, last: MINUTE, first: 100) { ...Counted }
    bytesIn: topClients(by: BYTES_IN, last: MINUTE, first: 100) { ...Counted }
    bytesOut: topClients(by: BYTES_OUT, last: MINUTE, first: 100) { ...Counted }
  }
}`,
  [COUNTED],
);

/** Brokers count in steps of ten seconds. */
const EVERY_MS = 10_000;

export const RATE_KEYS = ['messagesIn', 'messagesOut', 'bytesIn', 'bytesOut'] as const;
export type Rates = Readonly<Record<(typeof RATE_KEYS)[number], (clientId: string) => Amount | null>>;

/** What clients sent and received in the last minute; `null` if the broker does not count it. */
export function useRates(brokerId: string): Rates | null {
  const { data, error } = useQuery(RATES, { id: brokerId }, EVERY_MS);
  const counted = error?.code === 'NOT_SUPPORTED_BY_BROKER' ? null : data?.broker;
  return useMemo(
    () =>
      counted
        ? {
            messagesIn: amountsIn(counted.messagesIn),
            messagesOut: amountsIn(counted.messagesOut),
            bytesIn: amountsIn(counted.bytesIn),
            bytesOut: amountsIn(counted.bytesOut),
          }
        : null,
    [counted],
  );
}

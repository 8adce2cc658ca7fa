import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';

const METRICS = graphql(`query MetricsOfBroker($id: ID!, $from: DateTime!, $maxPoints: Int!) {
  broker(id: $id) {
    metrics(from: $from, maxPoints: $maxPoints) {
      from
      stepSeconds
      problem
      clients { mean }
      messagesIn { mean }
      messagesOut { mean }
      messagesDropped { mean }
      bytesIn { mean }
      bytesOut { mean }
    }
  }
}`);

/** Seconds up to now that charts show. */
export const RANGES = {
  tenMinutes: 600,
  hour: 3_600,
  sixHours: 21_600,
  twoDays: 172_800,
  week: 604_800,
  month: 2_592_000,
} as const;

export type Range = keyof typeof RANGES;

const POINTS = 240;
const FINEST_MS = 10_000;
const RENEW_MS = 60_000;
const DAY_SECONDS = 86_400;

/** Whether times of the range need their date. */
export const hasDays = (range: Range): boolean => RANGES[range] > DAY_SECONDS;

/** The stored metrics of a broker. The range moves with each rendering; `null` until they are known. */
export function useMetricHistory(id: string, range: Range) {
  const rangeMs = RANGES[range] * 1_000;
  const stepMs = Math.max(FINEST_MS, rangeMs / POINTS);
  const from = new Date(Math.floor(Date.now() / stepMs) * stepMs - rangeMs).toISOString();
  // The first and the last step may be incomplete.
  const { data, error } = useQuery(METRICS, { id, from, maxPoints: POINTS + 2 }, RENEW_MS);
  return { metrics: data?.broker?.metrics ?? null, error };
}

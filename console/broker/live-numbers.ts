import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';

const NUMBERS = graphql(`fragment Numbers on BrokerMetrics @_unmask {
  asOf
  isStale
  uptimeSeconds
  brokerVersion
  clients { connected total maximum }
  bytes { received sent }
  publish { received sent dropped }
  messages { stored storedBytes }
  heap { current maximum }
  subscriptions
  sharedSubscriptions
  retainedMessages
  rates {
    publishReceivedPerSecond
    publishSentPerSecond
    publishDroppedPerSecond
    bytesReceivedPerSecond
    bytesSentPerSecond
  }
}`);

export const LIVE_NUMBERS = graphql(
  `subscription BrokerNumbers($brokerId: ID!, $after: SafeInt) {
    brokerMetrics(brokerId: $brokerId, after: $after) { kind sequence isConnected metrics { ...Numbers } reason }
  }`,
  [NUMBERS],
);

const HISTORY = graphql(`query NumbersBefore($id: ID!) { broker(id: $id) { metricsHistory { ...Numbers } } }`, [
  NUMBERS,
]);

type NumbersEvent = ResultOf<typeof LIVE_NUMBERS>['brokerMetrics'];
export type Numbers = ResultOf<typeof NUMBERS>;

/** The history has a sample every ten seconds, also of times at which this page was not connected. */
const HISTORY_MS = 60_000;
/** The history covers at least ten minutes. */
const SHOWN_MS = 600_000;

interface Measured {
  /** The current numbers, last. */
  readonly samples: readonly Numbers[];
  readonly reason: string | null;
}

function apply(before: Measured | null, { metrics, reason }: NumbersEvent): Measured {
  const samples = before?.samples ?? [];
  return { samples: metrics ? [...samples, metrics].filter(isShown(metrics)) : samples, reason };
}

const isShown =
  ({ asOf }: Numbers) =>
  (sample: Numbers): boolean =>
    Date.parse(asOf) - Date.parse(sample.asOf) <= SHOWN_MS;

interface LiveNumbers {
  /** `null`: the broker has published none yet. `undefined`: not known yet. */
  readonly current: Numbers | null | undefined;
  /** Those of the last ten minutes, oldest first. */
  readonly samples: readonly Numbers[];
  /** Which numbers the service may not read, and what it needs. `null`: none are refused. */
  readonly reason: string | null;
  readonly isLive: boolean;
}

/** The numbers of a broker: now, as it publishes them, and those of the last ten minutes. */
export function useLiveNumbers(brokerId: string): LiveNumbers {
  const { data } = useQuery(HISTORY, { id: brokerId }, HISTORY_MS);
  const { state, isLive } = useLive(LIVE_NUMBERS, { brokerId }, ({ brokerMetrics }) => brokerMetrics, apply);
  const current = state === null ? undefined : (state.samples.at(-1) ?? null);
  const all = new Map<string, Numbers>();
  for (const sample of [...(data?.broker?.metricsHistory ?? []), ...(state?.samples ?? [])]) {
    all.set(sample.asOf, sample);
  }
  const samples = [...all.values()].sort((a, b) => a.asOf.localeCompare(b.asOf));
  return {
    current,
    samples: current ? samples.filter(isShown(current)) : samples,
    reason: state?.reason ?? null,
    isLive,
  };
}

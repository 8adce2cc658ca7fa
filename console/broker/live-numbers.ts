import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';

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

type NumbersEvent = ResultOf<typeof LIVE_NUMBERS>['brokerMetrics'];
export type Numbers = ResultOf<typeof NUMBERS>;

interface LiveNumbers {
  /** `null`: the broker has published none yet. `undefined`: not known yet. */
  readonly current: Numbers | null | undefined;
  /** Which numbers the service may not read, and what it needs. `null`: none are refused. */
  readonly reason: string | null;
  readonly isLive: boolean;
}

/** The numbers of a broker, as it publishes them. */
export function useLiveNumbers(brokerId: string): LiveNumbers {
  const { state, isLive } = useLive(LIVE_NUMBERS, { brokerId }, ({ brokerMetrics }) => brokerMetrics, apply);
  return { current: state === null ? undefined : state.metrics, reason: state?.reason ?? null, isLive };
}

/** A gap has no numbers. The last ones remain. */
const apply = (
  before: Pick<NumbersEvent, 'metrics' | 'reason'> | null,
  { kind, metrics, reason }: NumbersEvent,
): Pick<NumbersEvent, 'metrics' | 'reason'> =>
  kind === 'GAP' ? { metrics: before?.metrics ?? null, reason: before?.reason ?? null } : { metrics, reason };

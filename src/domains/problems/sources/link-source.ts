import { withoutReachability } from '../../../protocol/mqtt/link-failure.ts';
import { errorStatements, statement } from '../../../protocol/problems/problem-statements.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import type { BrokerSource } from '../model/problem-source.ts';

interface LinkSourceOptions {
  readonly runtimes: BrokerRuntimes;
  /** Called when the state of the link to a broker has changed. */
  readonly onChange: (brokerId: string) => void;
}

const KINDS = { UNREACHABLE: 'BROKER_UNREACHABLE', UNAUTHORIZED: 'BROKER_UNAUTHORIZED' } as const;
type DownState = keyof typeof KINDS;

const isDown = (state: string): state is DownState => Object.hasOwn(KINDS, state);

/** The connections to a broker that were lost since the last reading. */
interface Losses {
  readonly state: DownState;
  readonly lastError: string | undefined;
  readonly times: number;
}

/**
 * Whether this service is connected to a broker. A connection that was lost and is back before the next reading is a
 * fact of that reading, so that a broker that comes and goes often is noticed. A broker that is stopped on purpose has
 * no problem.
 */
export function linkSource({ runtimes, onChange }: LinkSourceOptions): BrokerSource {
  const losses = new Map<string, Losses>();
  runtimes.onRuntime(({ id, link }, change) => {
    if (change === 'CLOSING') {
      losses.delete(id);
      return;
    }
    let wasConnected = false;
    link.onStatus((status) => {
      const { state, lastError } = withoutReachability(status);
      if (state === 'CONNECTED') wasConnected = true;
      else if (wasConnected && isDown(state)) {
        wasConnected = false;
        losses.set(id, { state, lastError, times: (losses.get(id)?.times ?? 0) + 1 });
      }
      onChange(id);
    });
  });
  return {
    kinds: Object.values(KINDS),
    of: (broker) => {
      // Only administrators learn which hosts and ports can be reached.
      const { state, lastError } = withoutReachability(runtimes.status(broker.id));
      const lost = losses.get(broker.id);
      losses.delete(broker.id);
      if (isDown(state)) return [factOf(KINDS[state], broker, lastError, lost?.times)];
      if (lost !== undefined) return [factOf(KINDS[lost.state], broker, lost.lastError, lost.times)];
      return state === 'CONNECTING' ? null : [];
    },
  };
}

const factOf = (
  kind: ProblemFact['kind'],
  { id, name }: BrokerRecord,
  lastError: string | undefined,
  times: number | undefined,
): ProblemFact => ({
  kind,
  subjectId: id,
  subjectName: name,
  statements: lastError === undefined ? [statement('REASON_UNKNOWN', {})] : errorStatements(lastError),
  ...(times === undefined ? {} : { times }),
});

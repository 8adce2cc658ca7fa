import { withoutReachability } from '../../../protocol/mqtt/link-failure.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import type { BrokerSource } from '../model/problem-source.ts';

interface LinkSourceOptions {
  readonly runtimes: BrokerRuntimes;
  /** Called when the state of a link has changed. */
  readonly onChange: () => void;
}

/** Whether this service is connected to a broker. A broker that is stopped on purpose has no problem. */
export function linkSource({ runtimes, onChange }: LinkSourceOptions): BrokerSource {
  runtimes.onRuntime(({ link }, change) => {
    if (change === 'OPENED') link.onStatus(onChange);
  });
  return {
    kinds: ['BROKER_UNREACHABLE', 'BROKER_UNAUTHORIZED'],
    of: (broker) => {
      // Only administrators learn which hosts and ports can be reached.
      const { state, lastError } = withoutReachability(runtimes.status(broker.id));
      if (state === 'CONNECTING') return null;
      if (state === 'UNREACHABLE') return [factOf('BROKER_UNREACHABLE', broker, lastError)];
      return state === 'UNAUTHORIZED' ? [factOf('BROKER_UNAUTHORIZED', broker, lastError)] : [];
    },
  };
}

const factOf = (
  kind: 'BROKER_UNREACHABLE' | 'BROKER_UNAUTHORIZED',
  { id, name }: BrokerRecord,
  detail = 'The reason is not known.',
): ProblemFact => ({ kind, subjectId: id, subjectName: name, detail });

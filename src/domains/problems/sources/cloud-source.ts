import { errorStatements, statement } from '../../../protocol/problems/problem-statements.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerSource } from '../model/problem-source.ts';

interface CloudSourceOptions {
  readonly stateOf: (broker: BrokerRecord) => Pick<BrokerRecord, 'state' | 'problem'>;
}

/** Brokers that this service runs: those that should run and cannot, and those whose process is gone. */
export const cloudSource = ({ stateOf }: CloudSourceOptions): BrokerSource => ({
  kinds: ['CLOUD_BROKER_ERROR'],
  of: (broker) => {
    const { id, name, type, awaySince, host } = broker;
    if (type !== 'CLOUD') return [];
    const { state, problem } = stateOf(broker);
    const about = { kind: 'CLOUD_BROKER_ERROR', subjectId: id, subjectName: name } as const;
    if (awaySince !== null) {
      const statements = [statement('BROKER_PROCESS_AWAY', { name, host: host ?? '?' })];
      return [{ ...about, statements, whatWouldHelp: 'Start the process with the data folder of the broker again.' }];
    }
    if (state !== 'ERROR' && problem === null) return [];
    const severity = state === 'ERROR' ? 'CRITICAL' : 'WARNING';
    const statements = problem === null ? [statement('BROKER_CANNOT_RUN', { name })] : errorStatements(problem);
    return [{ ...about, severity, statements }];
  },
});

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
      const detail = `The broker "${name}" runs in a process on ${host ?? 'another machine'}, which is not there.`;
      return [{ ...about, detail, whatWouldHelp: 'Start the process with the data folder of the broker again.' }];
    }
    if (state !== 'ERROR' && problem === null) return [];
    const severity = state === 'ERROR' ? 'CRITICAL' : 'WARNING';
    return [{ ...about, severity, detail: problem ?? `The broker "${name}" cannot run.` }];
  },
});

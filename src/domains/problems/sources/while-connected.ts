import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerSource } from '../model/problem-source.ts';

/** Whether a broker is not to be connected: it was stopped on purpose, or has no address. It has no problems. */
export const isStopped = ({ type, targetState, url }: BrokerRecord): boolean =>
  type === 'CLOUD' ? targetState === 'INACTIVE' : url === null;

/** A source that reads facts over the connection to the broker: while it is not connected, they are not known. */
export const whileConnected = (isConnected: (brokerId: string) => boolean, source: BrokerSource): BrokerSource => ({
  ...source,
  of: (broker, thresholds) => {
    if (isStopped(broker)) return [];
    return isConnected(broker.id) ? source.of(broker, thresholds) : null;
  },
});

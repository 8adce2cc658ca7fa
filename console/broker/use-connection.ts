import { BROKER_STATUS, type BrokerStatusEvent } from '../graph/broker-status.ts';
import { useLive } from '../graph/live.ts';
import type { Broker } from './broker-context.ts';

/** `last`: of the broker; `undefined` if it was not reported. */
interface Reported {
  readonly last: BrokerStatusEvent['brokers'][number] | undefined;
}

interface Connection {
  readonly connection: Broker['connection'];
  readonly isLive: boolean;
  readonly isRemoved: boolean;
}

/** The connection of the service to a broker, live. */
export function useConnection({ id, project, connection }: Broker): Connection {
  const apply = (before: Reported | null, { brokers }: BrokerStatusEvent): Reported => ({
    last: brokers.find(({ brokerId }) => brokerId === id) ?? before?.last,
  });
  const { state, isLive } = useLive(
    BROKER_STATUS,
    { projectId: project.id },
    ({ brokerStatus }) => brokerStatus,
    apply,
  );
  return { connection: state?.last?.connection ?? connection, isLive, isRemoved: state?.last?.isRemoved ?? false };
}

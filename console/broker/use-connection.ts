import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import type { Broker } from './broker-context.ts';

const STATUS = graphql(`subscription ConnectionOfBroker($projectId: ID!, $after: SafeInt) {
  brokerStatus(projectId: $projectId, after: $after) {
    kind
    sequence
    brokers { brokerId isRemoved connection { state since lastError } }
  }
}`);

type StatusEvent = ResultOf<typeof STATUS>['brokerStatus'];

/** `last`: of the broker; `undefined` if it was not reported. */
interface Reported {
  readonly last: StatusEvent['brokers'][number] | undefined;
}

interface Connection {
  readonly connection: Broker['connection'];
  readonly isLive: boolean;
  readonly isRemoved: boolean;
}

/** The connection of the service to a broker, live. */
export function useConnection({ id, project, connection }: Broker): Connection {
  const apply = (before: Reported | null, { brokers }: StatusEvent): Reported => ({
    last: brokers.find(({ brokerId }) => brokerId === id) ?? before?.last,
  });
  const { state, isLive } = useLive(STATUS, { projectId: project.id }, ({ brokerStatus }) => brokerStatus, apply);
  return { connection: state?.last?.connection ?? connection, isLive, isRemoved: state?.last?.isRemoved ?? false };
}

import { graphql, type ResultOf } from './graphql.ts';

/** The connections of the service to the brokers of a project. */
export const BROKER_STATUS = graphql(`subscription BrokerStatus($projectId: ID!, $after: SafeInt) {
  brokerStatus(projectId: $projectId, after: $after) {
    kind
    sequence
    brokers { brokerId isRemoved connection { state since lastError } }
  }
}`);

export type BrokerStatusEvent = ResultOf<typeof BROKER_STATUS>['brokerStatus'];

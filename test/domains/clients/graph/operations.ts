import type { GraphqlAnswer, TestService } from '../../../support/service.ts';

/* What tests of clients ask the graph. */

export const DISCONNECT = `mutation ($input: DisconnectClientInput!) { disconnectClient(input: $input) {
  clientId method disconnected client { clientId isConnected } broker { id }
} }`;
export const SUBSCRIBE = `mutation ($input: SubscribeClientInput!) { subscribeClient(input: $input) {
  clientId client { clientId subscriptions } broker { id }
} }`;
export const UNSUBSCRIBE = `mutation ($input: UnsubscribeClientInput!) { unsubscribeClient(input: $input) {
  clientId client { clientId subscriptions } broker { id }
} }`;
export const DISCONNECT_MANY = `mutation ($input: DisconnectClientsInput!) { disconnectClients(input: $input) {
  results { clientId status error { code message info } }
  disconnectedCount wouldDisconnectCount refusedCount notFoundCount failedCount alsoDisconnected isComplete
} }`;

export const DELETE_SESSIONS = `mutation ($input: DeleteClientSessionsInput!) { deleteClientSessions(input: $input) {
  results { clientId status error { code } }
  deletedCount wouldDeleteCount refusedCount notFoundCount failedCount broker { id }
} }`;

export interface Result {
  readonly clientId: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string; readonly info: unknown } | null;
}

/** What became of each client: `[id, status]`, or `[id, status, code]` with an error. */
export const outcomes = ({ data, errors }: GraphqlAnswer): string[][] => {
  if (errors) throw new Error(JSON.stringify(errors));
  return data.disconnectClients.results.map(({ clientId, status, error }: Result) =>
    error ? [clientId, status, error.code] : [clientId, status],
  );
};

export const codeOf = ({ errors }: GraphqlAnswer): string | undefined => errors?.[0]?.extensions.code;

export const issuesOf = ({ errors }: GraphqlAnswer): readonly { readonly path: string; readonly reason: string }[] =>
  (errors?.[0]?.extensions.info as { issues?: [] } | undefined)?.issues ?? [];

/** The gateway's own connection to a broker. */
export const ownIds = (service: TestService, brokerId: string): readonly string[] => {
  const broker = service.services.brokers.visibleIn(service.projectId, null).find(({ id }) => id === brokerId);
  if (broker === undefined) throw new Error('There is no such broker');
  return service.services.runtimes.get(broker).clientIds;
};

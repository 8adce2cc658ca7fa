import { graphql, type ResultOf } from '../graph/graphql.ts';

export const CLIENTS = graphql(`query Clients(
  $id: ID!
  $filter: ConnectedClientFilter
  $orderBy: ConnectedClientOrder
  $first: Int!
  $offset: Int
  $after: String
  $withDrops: Boolean!
) {
  broker(id: $id) {
    connectedClients(filter: $filter, orderBy: $orderBy, first: $first, offset: $offset, after: $after) {
      totalCount
      isComplete
      undecidedCount
      since
      pageInfo { hasNextPage endCursor }
      nodes {
        id
        clientId
        username
        address
        protocol
        protocolVersion
        isConnected
        isGateway
        isBridge
        nodeId
        lastConnectedAt
        lastDisconnectedAt
        queues { messagesOut }
        numDropped @include(if: $withDrops)
      }
    }
  }
}`);

export type ClientPage = NonNullable<NonNullable<ResultOf<typeof CLIENTS>['broker']>['connectedClients']>;
export type ClientRow = ClientPage['nodes'][number];

/** Only the counts, so a change costs the same with ten and with 100,000 clients. */
export const COUNTS = graphql(`subscription ClientCounts(
  $brokerId: ID!
  $filter: ConnectedClientFilter
  $after: SafeInt
) {
  connectedClients(brokerId: $brokerId, filter: $filter, form: COUNTS, after: $after) {
    kind
    sequence
    totalCount
    connectedCount
  }
}`);

export const MAY = graphql(`query MayControlClients($id: ID!) { broker(id: $id) { viewerCanControlClients } }`);

export const DISCONNECT = graphql(`mutation DisconnectClients($input: DisconnectClientsInput!, $withResults: Boolean!) {
  disconnectClients(input: $input) {
    disconnectedCount
    wouldDisconnectCount
    refusedCount
    notFoundCount
    failedCount
    isComplete
    alsoDisconnected
    results @include(if: $withResults) { clientId status error { message } }
  }
}`);

export type DisconnectReport = ResultOf<typeof DISCONNECT>['disconnectClients'];

export const DELETE_SESSIONS = graphql(`mutation DeleteClientSessions($input: DeleteClientSessionsInput!) {
  deleteClientSessions(input: $input) {
    deletedCount
    wouldDeleteCount
    results { clientId status error { message } }
  }
}`);

import { ADVISED } from '../advice/use-advice.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';

/** What changes when a client connects or disconnects. */
export const CLIENT = graphql(`subscription Client($brokerId: ID!, $clientIds: [ID!]!, $after: SafeInt) {
  connectedClients(brokerId: $brokerId, filter: { clientIds: $clientIds }, after: $after) {
    kind
    sequence
    removedIds
    clients {
      id
      clientId
      username
      isConnected
      isGateway
      isBridge
      source
      nodeId
      lastConnectedAt
      lastDisconnectedAt
      disconnectReason
      address
      remotePort
      protocol
      protocolVersion
      keepalive
      cleanSession
      listener { bindAddress port }
      tls { version ciphers clientCertificate }
      will { topic payload qos retain delayInterval }
    }
  }
}`);

export type ClientEvent = ResultOf<typeof CLIENT>['connectedClients'];
export type ClientState = ClientEvent['clients'][number];

/** Numbers change with each message and send no events, so they are read again. */
export const NUMBERS = graphql(`query ClientNumbers($id: ID!, $clientId: String!) {
  broker(id: $id) {
    connectedClient(clientId: $clientId) {
      asOf
      numSubscriptions
      numPublished
      numSubscribed
      numDropped
      bytesPublished
      bytesSubscribed
      queues { messagesOut messagesMax bytesOut bytesMax }
      inflight { messagesIn messagesOut messagesMax messagesInMax messagesOutMax }
      subscriptionDetails { topic qos noLocal retainAsPublished }
      unknownFields { field reason }
    }
  }
}`);

export type ClientNumbers = NonNullable<NonNullable<ResultOf<typeof NUMBERS>['broker']>['connectedClient']>;

/** An account with its roles and rules. */
const HELD = graphql(`fragment HeldByAccount on Account @_unmask {
  username
  textName
  enabled
  clientId
  roles {
    roleName
    priority
    role { allowWildcardSubs acls { aclType allow priority topic } }
  }
  groups {
    groupName
    priority
    group {
      roles {
        roleName
        priority
        role { allowWildcardSubs acls { aclType allow priority topic } }
      }
    }
  }
}`);

/** The account of the client, and what it gets from roles and groups. `username`: that of its last event. */
export const ACCESS = graphql(
  `query ClientAccess($id: ID!, $clientId: String!, $username: String!, $isNamed: Boolean!) {
  broker(id: $id) {
    viewerCanControlClients
    viewerCanChangeAccessControl
    connectedClient(clientId: $clientId) { username account { ...HeldByAccount } }
    account(username: $username) @include(if: $isNamed) { ...HeldByAccount }
    anonymousGroup {
      groupName
      roles {
        roleName
        priority
        role { allowWildcardSubs acls { aclType allow priority topic } }
      }
    }
  }
}`,
  [HELD],
);

/** The newest events of the client. */
export const LAST_SEEN = graphql(`query ClientLastSeen($id: ID!, $clientId: String!) {
  broker(id: $id) {
    last: clientEvents(first: 1, filter: { clientId: $clientId }) {
      since
      isComplete
      nodes { at username refusal { username } }
    }
    seen: clientEvents(
      first: 1
      filter: { clientId: $clientId, kinds: [CONNECTED, DISCONNECTED, TAKEN_OVER] }
    ) {
      nodes { at kind }
      pageInfo { hasNextPage }
    }
  }
}`);

export type LastSeen = NonNullable<ResultOf<typeof LAST_SEEN>['broker']>;

export type AccessOfBroker = NonNullable<ResultOf<typeof ACCESS>['broker']>;
export type HeldRole = ResultOf<typeof HELD>['roles'][number];
export type Rule = NonNullable<HeldRole['role']>['acls'][number];

export const REFUSALS = graphql(
  `query ClientRefusals($id: ID!, $clientId: String!) {
  broker(id: $id) {
    refusals(clientId: $clientId, first: 50) {
      since
      totalCount
      limit
      limitCode
      nodes { id lastAt kind topic detail count ...Advised }
    }
  }
}`,
  [ADVISED],
);

export const ROLES = graphql(`query RoleNames($id: ID!) {
  broker(id: $id) { accessRoles(first: 500) { nodes { roleName } } }
}`);

import { ADVISED } from '../advice/use-advice.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';

/** A page of events with what the history lacks. */
const EVENTS = graphql(
  `fragment Events on ClientEventConnection @_unmask {
  since
  incompleteReason
  gaps { from to reason detail broker { name } }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  edges {
    cursor
    node {
      at
      kind
      clientId
      username
      address
      listenerPort
      protocol
      reason
      detail
      count
      broker { id name }
      refusal { id kind topic detail ...Advised }
      operation { at operation actorKind actorName project { id } }
    }
  }
}`,
  [ADVISED],
);

export const BROKER_EVENTS = graphql(
  `query ClientEventsOfBroker(
  $id: ID!
  $filter: ClientEventFilter
  $first: Int
  $after: String
  $last: Int
  $before: String
) {
  broker(id: $id) {
    project { viewerCanReadAudit }
    clientEvents(filter: $filter, first: $first, after: $after, last: $last, before: $before) { ...Events }
  }
}`,
  [EVENTS],
);

export const PROJECT_EVENTS = graphql(
  `query ClientEventsOfProject(
  $id: ID!
  $filter: ClientEventFilter
  $first: Int
  $after: String
  $last: Int
  $before: String
) {
  project(id: $id) {
    viewerCanReadAudit
    clientEvents(filter: $filter, first: $first, after: $after, last: $last, before: $before) { ...Events }
  }
}`,
  [EVENTS],
);

export type EventPage = ResultOf<typeof EVENTS>;
export type EventEdge = EventPage['edges'][number];
export type ClientEvent = EventEdge['node'];
export type EventGap = EventPage['gaps'][number];
export type EventKind = ClientEvent['kind'];

import { graphql, type ResultOf } from '../graph/graphql.ts';

export const OVERVIEW = graphql(`query TopicOverview($id: ID!, $node: Int, $kind: TopicKind) {
  broker(id: $id) {
    viewerCanReadMessages
    viewerCanUpdateTopicTree
    viewerCanDeleteRetainedMessages
    topicTrees { nodeId }
    topicTree(nodeId: $node) {
      state
      since
      reason
      deniedFilters
      droppedByBroker
      hasPayloads
      count(kind: $kind)
      isTruncated(kind: $kind)
      leftOut(kind: $kind)
      settings { ttl publishLimit }
      unavailable { subscribed }
    }
  }
}`);

export const SET_TTL = graphql(`mutation SetTopicTtl($input: SetTopicTtlInput!) {
  setTopicTtl(input: $input) { broker { id } }
}`);

export const CHANGES = graphql(`subscription TopicChanges($brokerId: ID!, $kind: TopicKind, $after: SafeInt) {
  topics(brokerId: $brokerId, kind: $kind, after: $after) { kind sequence count }
}`);

export const LEVELS = graphql(`query TopicLevels($id: ID!, $node: Int, $kind: TopicKind, $of: String, $first: Int) {
  broker(id: $id) {
    topicTree(nodeId: $node) {
      children(kind: $kind, of: $of, first: $first) {
        totalCount
        nodes {
          name
          topic
          childCount
          topicCount
          recorded { payload payloadBase64 lastSeen messages }
        }
      }
    }
  }
}`);

export const FOUND = graphql(`query FoundTopics(
  $id: ID!, $node: Int, $kind: TopicKind, $filter: String, $search: String,
  $first: Int, $after: String, $last: Int, $before: String
) {
  broker(id: $id) {
    topicTree(nodeId: $node) {
      topics(kind: $kind, filter: $filter, search: $search, first: $first, after: $after, last: $last, before: $before) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes { topic payload payloadBase64 payloadBytes lastSeen messages retain }
      }
    }
  }
}`);

export const TOPIC = graphql(`query OneTopic($id: ID!, $node: Int, $kind: TopicKind, $topic: String!) {
  broker(id: $id) {
    topicTree(nodeId: $node) {
      hasPayloads
      reportsRetain
      count(kind: $kind, prefix: $topic)
      topic(kind: $kind, topic: $topic) {
        topic
        firstSeen
        lastSeen
        messages
        qos
        retain
        nodeIds
        payload
        payloadBase64
        payloadBytes
        isPayloadTruncated
      }
    }
  }
}`);

export const SUBSCRIBERS = graphql(`query TopicSubscribers($id: ID!, $topic: String!, $first: Int) {
  broker(id: $id) {
    topicSubscribers(topic: $topic, first: $first) {
      totalCount
      isComplete
      nodes { clientId nodeId filter qos isConnected isGateway }
    }
  }
}`);

export const LAST_PUBLISHER = graphql(`query LastPublisher($id: ID!, $topic: String!) {
  broker(id: $id) { lastPublisher(topic: $topic) { clientId at } }
}`);

export const WHO_CAN = graphql(`query WhoCanUseTopic($id: ID!, $topic: String!, $action: AccessAction!, $first: Int) {
  whoCan(brokerId: $id, topic: $topic, action: $action, first: $first) {
    totalCount
    nodes { username conditional }
  }
}`);

export const RETAINED = graphql(`query RetainedMessages(
  $id: ID!, $node: Int, $filter: String,
  $first: Int, $after: String, $last: Int, $before: String
) {
  broker(id: $id) {
    topicTree(nodeId: $node) { topics(filter: $filter, first: 1000) { totalCount names } }
    retainedMessages(filter: $filter, first: $first, after: $after, last: $last, before: $before, maxPayloadBytes: 1024) {
      totalCount
      pageInfo { hasNextPage endCursor }
      completeness
      nodes { topic payload payloadBase64 payloadBytes isPayloadTruncated qos contentType expiresAt }
    }
  }
}`);

export const DELETE_RETAINED = graphql(`mutation DeleteRetained($input: DeleteRetainedMessagesInput!) {
  deleteRetainedMessages(input: $input) {
    deletion {
      isComplete
      total
      wouldDeleteCount
      deletedCount
      acknowledgedCount
      remainingCount
      refusedCount
      unknownCount
      notFoundCount
      problem
      results { topic status error { message } }
    }
  }
}`);

export const DELETION = graphql(`subscription RetainedDeletion($brokerId: ID!, $after: SafeInt) {
  retainedDeletion(brokerId: $brokerId, after: $after) {
    kind
    sequence
    deletion { state isDryRun total deletedCount acknowledgedCount problem }
  }
}`);

type Tree<Data extends { readonly broker: { readonly topicTree: unknown } | null }> = NonNullable<
  NonNullable<Data['broker']>['topicTree']
>;
export type TopicKind = 'PUBLISHED' | 'SUBSCRIBED';
export type Level = NonNullable<Tree<ResultOf<typeof LEVELS>>['children']>['nodes'][number];
export type FoundTopic = NonNullable<Tree<ResultOf<typeof FOUND>>['topics']>['nodes'][number];
export type RecordedTopic = NonNullable<Tree<ResultOf<typeof TOPIC>>['topic']>;
export type Deletion = ResultOf<typeof DELETE_RETAINED>['deleteRetainedMessages']['deletion'];
export type RetainedMessage = NonNullable<
  NonNullable<ResultOf<typeof RETAINED>['broker']>['retainedMessages']
>['nodes'][number];

/** Which topics of a broker are shown. */
export interface Place {
  readonly id: string;
  /** A node of a cluster whose nodes have their own topics. */
  readonly node: number | null;
  readonly kind: TopicKind;
}

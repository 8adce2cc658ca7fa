import type { Route, RouteInput } from '../../gateway/rest/route.ts';
import { NEW_TOPIC_TTL, NODE_QUERY, TOPIC_TREES, TOPIC_TTL, TOPICS_QUERY } from './topic-bodies.ts';

const PAGE = 10_000;

const TREE = `query ($projectId: ID!, $brokerId: ID!, $nodeId: Int, $named: Boolean!, $first: Int, $offset: Int) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      topicTree(nodeId: $nodeId) { ...tree }
      topicTrees @skip(if: $named) { ...tree }
    }
  }
}
fragment tree on TopicTree {
  nodeid: nodeId
  publishTopics: topics(kind: PUBLISHED, first: $first, offset: $offset) { ...page }
  subscribeTopics: topics(kind: SUBSCRIBED, first: $first, offset: $offset) { ...page }
  truncated: isTruncated
  unavailable { subscribeTopics: subscribed }
  reason
}
fragment page on TopicConnection { count: totalCount topics: names pageInfo { hasNextPage endCursor } }`;

const NEXT = `query ($projectId: ID!, $brokerId: ID!, $nodeId: Int, $kind: TopicKind!, $first: Int, $after: String) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      topicTree(nodeId: $nodeId) {
        topics(kind: $kind, first: $first, after: $after) { topics: names pageInfo { hasNextPage endCursor } }
      }
    }
  }
}`;

const TTL = `query ($projectId: ID!, $brokerId: ID!, $nodeId: Int, $named: Boolean!) {
  project(id: $projectId) {
    broker(id: $brokerId) { ttl_sec: topicTtl(nodeId: $nodeId) ttls: topicTtls @skip(if: $named) }
  }
}`;

const KINDS: Readonly<Record<string, string>> = { publishTopics: 'PUBLISHED', subscribeTopics: 'SUBSCRIBED' };

const node = ({ query }: RouteInput) => ({ nodeId: query.nodeid, named: query.nodeid !== undefined });
const wanted = ({ query: { count = -1 } }: RouteInput) => (count === -1 ? Number.POSITIVE_INFINITY : Number(count));

const PATH = '/api/projects/{projectId}/brokers/{brokerId}/topictree';
const READ_ERRORS = [401, 403, 404, 405, 500, 503] as const;
const DOCUMENTED = { role: 'VIEWER', section: '4.9', tags: ['Topic tree'] } as const;
const NAMES = { ttl: 'ttl_sec', nodeId: 'nodeid' } as const;
const NODE_REVISIONS = { nodeid: { since: '3.3' } } as const;

export const topicRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: PATH,
    ...DOCUMENTED,
    summary: 'Read the topic tree',
    description:
      'The topics in use. A topic is listed until its TTL has passed since its last use. The first request starts the recording. `subscribeTopics` is missing if subscriptions cannot be observed. If the broker denies topics, `reason` names the missing permission.',
    query: TOPICS_QUERY,
    operation: TREE,
    variables: (input) => ({
      ...input.params,
      ...node(input),
      first: Math.min(wanted(input), PAGE),
      offset: input.query.offset,
    }),
    pick: ['project.broker.topicTree', 'project.broker.topicTrees'],
    inputNames: NAMES,
    omitNull: ['nodeid', 'subscribeTopics', 'unavailable', 'reason'],
    lists: {
      wanted,
      pageSize: PAGE,
      key: 'topics',
      within: ['publishTopics', 'subscribeTopics'],
      next: {
        operation: NEXT,
        variables: ({ params }, within, { nodeid }) => ({ ...params, nodeId: nodeid, kind: KINDS[within] }),
        pick: 'project.broker.topicTree.topics',
      },
    },
    response: TOPIC_TREES,
    errors: [400, ...READ_ERRORS],
    revisions: { query: NODE_REVISIONS, response: { truncated: { since: '3.3' } } },
  },
  {
    method: 'GET',
    path: `${PATH}/ttl`,
    ...DOCUMENTED,
    summary: 'Read the topic TTL',
    query: NODE_QUERY,
    operation: TTL,
    variables: (input) => ({ ...input.params, ...node(input) }),
    pick: 'project.broker',
    inputNames: NAMES,
    omitNull: ['*'],
    response: TOPIC_TTL,
    errors: [400, ...READ_ERRORS],
    revisions: { query: NODE_REVISIONS, response: { ttls: { since: '3.3' } } },
  },
  {
    method: 'PUT',
    path: `${PATH}/ttl`,
    ...DOCUMENTED,
    summary: 'Change the topic TTL',
    description: 'Also applies to topics that are already listed.',
    query: NODE_QUERY,
    body: NEW_TOPIC_TTL,
    operation: 'mutation ($input: SetTopicTtlInput!) { setTopicTtl(input: $input) { broker { id } } }',
    variables: ({ params, query, body }) => ({ input: { ...params, nodeId: query.nodeid, ttl: body.ttl_sec } }),
    status: 204,
    inputNames: NAMES,
    errors: [400, ...READ_ERRORS],
    revisions: { query: NODE_REVISIONS },
  },
];

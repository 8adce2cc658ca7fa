import { MAX_TTL_SECONDS } from '../../data-plane/topic-tree/model/topic-settings.ts';
import type { JsonSchema, Route, RouteInput } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';

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

const TTL_QUERY = `query ($projectId: ID!, $brokerId: ID!, $nodeId: Int, $named: Boolean!) {
  project(id: $projectId) {
    broker(id: $brokerId) { ttl_sec: topicTtl(nodeId: $nodeId) ttls: topicTtls @skip(if: $named) }
  }
}`;

const NODE: Readonly<Record<string, JsonSchema>> = {
  nodeid: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    description: 'A node of a high-performance cluster. 400 for other brokers.',
  },
};

const NODE_QUERY: JsonSchema = { type: 'object', properties: NODE };

const TOPICS_QUERY: JsonSchema = {
  type: 'object',
  properties: {
    offset: PAGE_QUERY.offset,
    count: { ...PAGE_QUERY.count, description: 'Maximum number of topics of each kind. -1: all.' },
    ...NODE,
  },
};

const topics = (description: string): JsonSchema =>
  closed({
    count: { ...INTEGER, description: 'Number of all listed topics, independent of `offset` and `count`.' },
    topics: { type: 'array', items: STRING, description },
  });

const TOPIC_TREE: JsonSchema = closed(
  {
    nodeid: { ...INTEGER, description: 'The node of a high-performance cluster.' },
    publishTopics: topics('Topics of messages.'),
    subscribeTopics: topics('Topic filters of subscriptions.'),
    truncated: { ...BOOLEAN, description: 'Whether a limit excludes topics now, or did within the last TTL.' },
    unavailable: closed(
      { subscribeTopics: { ...STRING, description: 'Why subscriptions cannot be observed, and what would help.' } },
      { description: 'What cannot be listed.' },
    ),
    reason: { ...STRING, description: 'The problem or the missing topics, and what would help.' },
  },
  { required: ['publishTopics'], title: 'TopicTree' },
);

const TOPIC_TREES: JsonSchema = {
  oneOf: [
    TOPIC_TREE,
    { type: 'array', items: TOPIC_TREE, description: 'One element for each node of a high-performance cluster.' },
  ],
};

const TTL: JsonSchema = {
  ...INTEGER,
  minimum: 1,
  maximum: MAX_TTL_SECONDS,
  description: 'Number of seconds that a topic stays listed after its last use.',
};

const TOPIC_TTL: JsonSchema = closed(
  {
    ttl_sec: TTL,
    ttls: { type: 'array', items: TTL, description: 'One element for each node of a high-performance cluster.' },
  },
  { required: [], minProperties: 1, title: 'TopicTtl' },
);

const NEW_TOPIC_TTL: JsonSchema = closed({ ttl_sec: TTL }, { title: 'NewTopicTtl', examples: [{ ttl_sec: 60 }] });

const KINDS: Readonly<Record<string, string>> = { publishTopics: 'PUBLISHED', subscribeTopics: 'SUBSCRIBED' };

const node = ({ query }: RouteInput) => ({ nodeId: query.nodeid, named: query.nodeid !== undefined });
const wanted = ({ query: { count = -1 } }: RouteInput) => (count === -1 ? Number.POSITIVE_INFINITY : Number(count));

const PATH = '/api/projects/{projectId}/brokers/{brokerId}/topictree';
const READ_ERRORS = [401, 403, 404, 405, 500, 503] as const;
const DOCUMENTED = { section: '4.9', tag: 'Topic tree' } as const;
const NAMES = { ttl: 'ttl_sec', nodeId: 'nodeid' } as const;
const NODE_REVISIONS = { nodeid: { since: '3.3' } } as const;

export const topicRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: PATH,
    ...DOCUMENTED,
    operationId: 'getTopicTree',
    summary: 'Read the topic tree',
    keywords: 'list explore browse topics',
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
    revisions: {
      query: NODE_REVISIONS,
      response: { truncated: { since: '3.3' }, unavailable: { since: '3.3' }, reason: { since: '3.3' } },
    },
  },
  {
    method: 'GET',
    path: `${PATH}/ttl`,
    ...DOCUMENTED,
    operationId: 'getTopicTtl',
    summary: 'Read the topic TTL',
    keywords: 'expiry retention lifetime',
    query: NODE_QUERY,
    operation: TTL_QUERY,
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
    operationId: 'setTopicTtl',
    summary: 'Change the topic TTL',
    keywords: 'set expiry retention lifetime',
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

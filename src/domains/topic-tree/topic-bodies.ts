import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';
import { MAX_TTL_SECONDS } from './model/topic-settings.ts';

const NODE: Readonly<Record<string, JsonSchema>> = {
  nodeid: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    description: 'A node of a high-performance cluster. 400 for other brokers.',
  },
};

export const NODE_QUERY: JsonSchema = { type: 'object', properties: NODE };

export const TOPICS_QUERY: JsonSchema = {
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

export const TOPIC_TREES: JsonSchema = {
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

export const TOPIC_TTL: JsonSchema = closed(
  {
    ttl_sec: TTL,
    ttls: { type: 'array', items: TTL, description: 'One element for each node of a high-performance cluster.' },
  },
  { required: [], minProperties: 1, title: 'TopicTtl' },
);

export const NEW_TOPIC_TTL: JsonSchema = closed(
  { ttl_sec: TTL },
  { title: 'NewTopicTtl', examples: [{ ttl_sec: 60 }] },
);

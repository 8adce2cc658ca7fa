import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { TopicTree } from './topic-tree-schema.ts';

const NODE = 'A node of a cluster whose nodes have topics of their own; else INVALID.';
const NO_NODE = 'Null: a high-performance cluster, of which no node is named.';
const NO_NODES = 'Null: the broker is no high-performance cluster.';

builder.interfaceFields(Broker, (t) => ({
  topicTree: t.field({
    description: `Which topics are in use. The first question begins to record them. ${NO_NODE}`,
    type: TopicTree,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { nodeId: t.arg.int({ description: NODE }) },
    resolve: (broker, { nodeId }, { services: { topics } }) => {
      const place = topics.placeOf(broker, nodeId ?? null);
      return place && topics.tree(place);
    },
  }),
  topicTrees: t.field({
    description: `One for each node. ${NO_NODES}`,
    type: [TopicTree],
    nullable: true,
    complexity: { field: BROKER_QUERY_COST, multiplier: 3 },
    resolve: (broker, _args, { services: { topics } }) => {
      const nodes = topics.nodesOf(broker);
      return nodes && Promise.all(nodes.map((place) => topics.tree(place)));
    },
  }),
  topicTtl: t.int({
    description: `Seconds that a topic stays listed after its last use. ${NO_NODE}`,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { nodeId: t.arg.int({ description: NODE }) },
    resolve: async (broker, { nodeId }, { services: { topics } }) => {
      const place = topics.placeOf(broker, nodeId ?? null);
      return place && (await topics.settings(place)).ttlSeconds;
    },
  }),
  topicTtls: t.intList({
    description: `The same of each node. ${NO_NODES}`,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: async (broker, _args, { services: { topics } }) => {
      const nodes = topics.nodesOf(broker);
      if (nodes === null) return null;
      return Promise.all(nodes.map(async (place) => (await topics.settings(place)).ttlSeconds));
    },
  }),
}));

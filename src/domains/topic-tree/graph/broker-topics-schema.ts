import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { TopicTree } from './topic-tree-schema.ts';

const NODE = 'A node of a cluster whose nodes have their own topics. INVALID for other brokers.';
const NO_NODE = 'Null if the broker is a high-performance cluster and `nodeId` is missing.';
const NO_NODES = 'Null if the broker is not a high-performance cluster.';

builder.interfaceFields(Broker, (t) => ({
  topicTree: t.field({
    description: `The topics in use. The first request starts the recording. ${NO_NODE}`,
    type: TopicTree,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { nodeId: t.arg.int({ description: NODE }) },
    resolve: (broker, { nodeId }, { services: { topics } }) => {
      const ref = topics.refOf(broker, nodeId ?? null);
      return ref && topics.tree(ref);
    },
  }),
  topicTrees: t.field({
    description: `The topic tree of each node. ${NO_NODES}`,
    type: [TopicTree],
    nullable: true,
    complexity: { field: BROKER_QUERY_COST, multiplier: 3 },
    resolve: (broker, _args, { services: { topics } }) => {
      const nodes = topics.nodesOf(broker);
      return nodes && Promise.all(nodes.map((ref) => topics.tree(ref)));
    },
  }),
  topicTtl: t.int({
    description: `Number of seconds that a topic stays listed after its last use. ${NO_NODE}`,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { nodeId: t.arg.int({ description: NODE }) },
    resolve: async (broker, { nodeId }, { services: { topics } }) => {
      const ref = topics.refOf(broker, nodeId ?? null);
      return ref && (await topics.settings(ref)).ttlSeconds;
    },
  }),
  topicTtls: t.intList({
    description: `The TTL of each node. ${NO_NODES}`,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: async (broker, _args, { services: { topics } }) => {
      const nodes = topics.nodesOf(broker);
      if (nodes === null) return null;
      return Promise.all(nodes.map(async (ref) => (await topics.settings(ref)).ttlSeconds));
    },
  }),
}));

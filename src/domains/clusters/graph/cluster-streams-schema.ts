import { builder } from '../../../gateway/graphql/builder.ts';
import { QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import { StreamNode } from '../../streams/graph/stream-schema.ts';
import { ClusterNode, nodeViews } from './cluster-schema.ts';

builder.objectFields(StreamNode, (t) => ({
  node: t.field({
    description: 'The node; null: it has left the cluster. For its number alone: `nodeId`.',
    type: ClusterNode,
    nullable: true,
    complexity: QUESTION_COST,
    resolve: async ({ broker, on: { nodeId } }, _args, { services, viewer }) => {
      const cluster = services.clusters.around(broker, viewer);
      if (cluster === null) return null;
      const views = nodeViews(cluster, await services.clusters.status(cluster));
      return views.find(({ node }) => node.nodeId === nodeId) ?? null;
    },
  }),
}));

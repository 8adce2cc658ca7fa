import { builder } from '../../../gateway/graphql/builder.ts';
import { QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import { ClusterNode, nodeViews } from './cluster-schema.ts';

builder.objectFields(ConnectedClient, (t) => ({
  node: t.field({
    description:
      'Where it is, in a cluster whose nodes have clients of their own; else null. For its number alone: `nodeId`.',
    type: ClusterNode,
    nullable: true,
    complexity: QUESTION_COST,
    resolve: async ({ broker, known: { node: nodeId } }, _args, { services, viewer }) => {
      const cluster = nodeId === undefined ? null : services.clusters.around(broker, viewer);
      if (cluster === null) return null;
      const views = nodeViews(cluster, await services.clusters.status(cluster));
      return views.find(({ node }) => node.nodeId === nodeId) ?? null;
    },
  }),
}));

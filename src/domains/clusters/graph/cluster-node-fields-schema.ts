import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import { StreamNode } from '../../streams/graph/stream-schema.ts';
import { ClusterNode, nodeView } from './cluster-node-schema.ts';

builder.objectFields(ConnectedClient, (t) => ({
  node: t.field({
    description:
      'The node to which the client is connected. Null unless the nodes of the cluster have their own clients. `nodeId` has only the number.',
    type: ClusterNode,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: ({ broker, known: { node: nodeId } }, _args, context) => {
      const cluster = nodeId === undefined ? null : context.services.clusters.ofBroker(broker, context.viewer);
      return nodeId === undefined || cluster === null ? null : nodeView(cluster, nodeId, context);
    },
  }),
}));

builder.objectFields(StreamNode, (t) => ({
  node: t.field({
    description: 'The node. Null if it has left the cluster. `nodeId` has only the number.',
    type: ClusterNode,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: ({ broker, nodeId }, _args, context) => {
      const cluster = context.services.clusters.ofBroker(broker, context.viewer);
      return cluster && nodeView(cluster, nodeId, context);
    },
  }),
}));

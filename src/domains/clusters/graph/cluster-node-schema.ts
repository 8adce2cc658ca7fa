import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { ChangeError, errorField, errorView } from '../../../gateway/graphql/change-error.ts';
import { findsNamedNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { belongsToBroker } from '../../../gateway/graphql/type-scopes.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import { StreamNode } from '../../streams/graph/stream-schema.ts';
import type { ClusterNodeRecord, ClusterRecord, ClusterStatus, NodeOutcome, NodeStatus } from '../model/cluster.ts';
import { NodeRaftType, NodeSyncType } from './node-status-schema.ts';

export const NodeOutcomeType = builder.objectRef<NodeOutcome>('ClusterNodeOutcome').implement({
  description: 'Result of an operation on one node.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Number of the node.' }),
    brokerId: t.exposeID('brokerId', {
      description: 'Id of the broker entry through which this service connects to the node.',
    }),
    isDone: t.boolean({
      description: 'Whether the operation succeeded on this node. False if this node or another node failed.',
      resolve: ({ error, isSkipped }) => error === null && !isSkipped,
    }),
    error: errorField(t, 'Error of this node. Null if it did not fail.'),
  }),
});

/** The columns of a node that the graph shows. Values are rows, or cached rows. */
const NODE_COLUMNS = { clusterId: true, nodeId: true, brokerId: true, name: true, address: true, port: true } as const;

type NodeRow = Pick<ClusterNodeRecord, keyof typeof NODE_COLUMNS>;

interface NodeView extends NodeRow {
  readonly status: NodeStatus | null;
}

const statusOf = (node: NodeRow) => (node as Partial<NodeView>).status ?? null;

export const ClusterNode = builder.prismaObject('ClusterNode', {
  description: 'A broker that is a node of a cluster.',
  ...belongsToBroker(({ clusterId }: NodeRow) => clusterId),
  interfaces: [Node],
  select: NODE_COLUMNS,
  fields: (t) => ({
    id: t.id({
      description: 'Depends on the cluster and the number only.',
      resolve: ({ clusterId, nodeId }) =>
        namedNodeId({ kind: 'clusterNode', brokerId: clusterId, name: String(nodeId) }),
    }),
    nodeId: t.int({
      description: 'Number of the node from 1, unique in the cluster.',
      resolve: ({ nodeId }) => nodeId,
    }),
    name: t.string({ description: 'Name of the node.', resolve: ({ name }) => name }),
    address: t.string({
      description: 'Address at which the other nodes connect to the node.',
      resolve: ({ address }) => address,
    }),
    port: t.int({
      description: 'Port at which the other nodes connect to the node.',
      resolve: ({ port }) => port,
    }),
    brokerId: t.id({
      description: 'Id of the broker entry through which this service connects to the node.',
      resolve: ({ brokerId }) => brokerId,
    }),
    broker: t.field({
      description:
        'The broker entry through which this service connects to the node. Null if the caller may not see it.',
      type: Broker,
      nullable: true,
      resolve: ({ brokerId }, _args, { services, viewer }) => services.brokers.seen(brokerId, viewer),
    }),
    url: t.string({
      description: 'Address to which this service connects. Null if the caller may not see the broker.',
      nullable: true,
      resolve: ({ brokerId }, _args, { services, viewer }) => services.brokers.seen(brokerId, viewer)?.url ?? null,
    }),
    isReachable: t.boolean({
      description: 'Whether the node is reachable.',
      resolve: (node) => statusOf(node)?.isReachable ?? false,
    }),
    isLeader: t.boolean({
      description:
        'Whether requests for the cluster are sent to this node: the leader, or in synchronized clusters the node that is read.',
      resolve: (node) => statusOf(node)?.isLeader ?? false,
    }),
    raft: t.field({
      description: 'Raft status. Null if this service synchronizes the cluster, or if the node does not report it.',
      type: NodeRaftType,
      nullable: true,
      resolve: (node) => statusOf(node)?.raft ?? null,
    }),
    lag: t.field({
      type: 'SafeInt',
      description: 'Number of entries or changes that the node lacks. Null if unknown.',
      nullable: true,
      resolve: (node) => statusOf(node)?.lag ?? null,
    }),
    sync: t.field({
      description: 'Synchronization of the access control. Null if the brokers synchronize the cluster themselves.',
      type: NodeSyncType,
      nullable: true,
      resolve: (node) => statusOf(node)?.sync ?? null,
    }),
    error: t.field({
      description: 'Why the node is not reachable, or what is wrong with it. Null if nothing is wrong.',
      type: ChangeError,
      nullable: true,
      resolve: (node) => errorView(statusOf(node)?.error ?? null),
    }),
  }),
});

export const nodeViews = (nodes: readonly NodeRow[], status: ClusterStatus): NodeView[] => {
  const known = new Map(status.nodes.map((one) => [one.nodeId, one]));
  return nodes.map((node) => ({ ...node, status: known.get(node.nodeId) ?? null }));
};

export async function nodeView(cluster: ClusterRecord, nodeId: number, { services }: RequestContext) {
  const views = nodeViews(cluster.nodes, await services.clusters.status(cluster));
  return views.find((view) => view.nodeId === nodeId) ?? null;
}

findsNamedNode('clusterNode', (entry, number, context) => {
  const cluster = context.services.clusters.visible(entry.id, context.viewer);
  const node = cluster.nodes.find(({ nodeId }) => String(nodeId) === number);
  return node ? nodeView(cluster, node.nodeId, context) : null;
});

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

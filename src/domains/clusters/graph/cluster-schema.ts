import { swapClusterId } from '../../../gateway/cluster-id.ts';
import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { ChangeError, errorField, errorView } from '../../../gateway/graphql/change-error.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { findsNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { type RowList, rowConnection } from '../../../gateway/graphql/row-connection.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { belongsToBroker } from '../../../gateway/graphql/type-scopes.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { ERROR_STATUS, ServiceError } from '../../../platform/errors.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ClusterMode } from '../../brokers/broker-types-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import { visibleClusters } from '../cluster-queries.ts';
import type { ClusterResult } from '../cluster-service.ts';
import type { ClusterRecord, ClusterStatus } from '../model/cluster.ts';
import { ClusterNode, NodeOutcomeType, nodeView, nodeViews } from './cluster-node-schema.ts';

export const ClusterState = describedEnum('ClusterState', 'State of a cluster.', {
  ACTIVE: 'All nodes are reachable and without errors.',
  DEGRADED: 'The cluster works with errors.',
  INACTIVE: 'The cluster does not work.',
});

const ClusterKeeper = describedEnum('ClusterKeeper', 'Who synchronizes the nodes of a cluster.', {
  BROKER: 'The brokers, with `cedalo/ha`.',
  GATEWAY: 'This service synchronizes the access control of the nodes.',
});

const ENTRY_ID = 'Id of the broker entry that represents the cluster.';

const httpStatusOf = (error: ServiceError | null) => (error === null ? 200 : ERROR_STATUS[error.code]);

export const ClusterResultType = builder.objectRef<ClusterResult>('ClusterResult').implement({
  description: 'Result of an operation on one of several clusters.',
  fields: (t) => ({
    clusterId: t.id({ description: 'Id of the cluster.', resolve: ({ cluster }) => swapClusterId(cluster.id) }),
    brokerId: t.id({ description: ENTRY_ID, resolve: ({ cluster }) => cluster.id }),
    name: t.string({ description: 'Name of the cluster.', resolve: ({ cluster }) => cluster.name }),
    status: t.int({
      description: 'HTTP status that the REST interface returns for this cluster alone: 200, or that of the error.',
      resolve: ({ error }) => httpStatusOf(error),
    }),
    hasSucceeded: t.boolean({
      description: 'Whether the operation succeeded.',
      resolve: ({ error }) => error === null,
    }),
    error: errorField(t, 'Why the operation failed. Null if it succeeded.'),
    nodes: t.field({
      description: 'Result on each node, sorted by `nodeId`.',
      type: [NodeOutcomeType],
      resolve: ({ outcomes }) => [...outcomes],
    }),
  }),
});

/** The columns of a cluster that the graph shows. Values are rows, or cached rows, with the id of the broker entry. */
const COLUMNS = { id: true, name: true, mode: true, keeper: true, autoRepair: true, createdAt: true } as const;

export const Cluster = builder.prismaObject('Cluster', {
  description: 'Several brokers that are managed as one. `mode` says what they share with each other.',
  ...belongsToBroker(({ id }: { readonly id: string }) => id),
  interfaces: [Node],
  select: COLUMNS,
  fields: (t) => ({
    id: t.id({ description: 'Id of the cluster.', resolve: ({ id }) => swapClusterId(id) }),
    brokerId: t.id({ description: ENTRY_ID, resolve: ({ id }) => id }),
    name: t.string({ description: 'Name of the cluster.', resolve: ({ name }) => name }),
    mode: t.field({ description: 'What the nodes share.', type: ClusterMode, resolve: ({ mode }) => mode }),
    keeper: t.field({
      description: 'Who synchronizes the nodes.',
      type: ClusterKeeper,
      resolve: ({ keeper }) => keeper as ClusterRecord['keeper'],
    }),
    autoRepair: t.boolean({
      description: 'Whether drifted nodes are repaired automatically. Only in clusters that this service synchronizes.',
      resolve: ({ autoRepair }) => autoRepair,
    }),
    createdAt: t.field({
      description: 'When the cluster was created.',
      type: 'DateTime',
      resolve: ({ createdAt }) => createdAt,
    }),
    project: t.field({
      description: 'Project of the cluster.',
      type: Project,
      resolve: ({ id }, _args, { services, viewer }) =>
        services.projects.visible(services.clusters.visible(id, viewer).projectId, viewer),
    }),
    broker: t.field({
      description: 'The broker entry that represents the cluster. Operations on it apply to the cluster.',
      type: Broker,
      resolve: ({ id }, _args, { services, viewer }) => services.brokers.visible(id, viewer),
    }),
    state: t.field({
      description: 'State of the cluster, computed from the status of its nodes.',
      type: ClusterState,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async ({ id }, _args, context) => (await statusOf(id, context)).state,
    }),
    nodes: t.field({
      description: 'Nodes of the cluster, sorted by `nodeId`.',
      type: [ClusterNode],
      nullable: true,
      complexity: BROKER_QUERY_COST,
      select: (_args, _context, nestedSelection) => ({ nodes: nestedSelection({ orderBy: { nodeId: 'asc' } }) }),
      resolve: async ({ id, nodes }, _args, context) => [
        ...walk(context, nodeViews(nodes, await statusOf(id, context))),
      ],
    }),
  }),
});

findsNode('cluster', (id, { services, viewer }) => services.clusters.visible(swapClusterId(id), viewer));

const statusOf = async (id: string, { services, viewer }: RequestContext): Promise<ClusterStatus> =>
  services.clusters.status(services.clusters.visible(id, viewer));

interface ClusterHealth {
  readonly cluster: ClusterRecord;
  readonly status: ClusterStatus;
}

const healthError = ({ status: { state, nodes } }: ClusterHealth) => {
  if (state !== 'INACTIVE') return null;
  const error = nodes.find((node) => node.error !== null)?.error;
  return error ?? new ServiceError('BROKER_UNREACHABLE', 'No node of the cluster works');
};

const ClusterHealthType = builder.objectRef<ClusterHealth>('ClusterHealth').implement({
  description: 'Health of a cluster.',
  fields: (t) => ({
    cluster: t.expose('cluster', { description: 'The cluster of this health report.', type: Cluster }),
    clusterId: t.id({ description: 'Id of the cluster.', resolve: ({ cluster }) => swapClusterId(cluster.id) }),
    brokerId: t.id({ description: ENTRY_ID, resolve: ({ cluster }) => cluster.id }),
    name: t.string({ description: 'Name of the cluster.', resolve: ({ cluster }) => cluster.name }),
    state: t.field({ description: 'State of the cluster.', type: ClusterState, resolve: ({ status }) => status.state }),
    status: t.int({
      description: 'HTTP status that the REST interface returns for this cluster alone: 200, or that of the error.',
      resolve: (health) => httpStatusOf(healthError(health)),
    }),
    hasSucceeded: t.boolean({
      description: 'Whether the cluster works.',
      resolve: ({ status }) => status.state !== 'INACTIVE',
    }),
    error: t.field({
      description: 'Why the cluster does not work. Null if it works.',
      type: ChangeError,
      nullable: true,
      resolve: (health) => errorView(healthError(health)),
    }),
    nodes: t.field({
      description: 'Nodes of the cluster, sorted by `nodeId`.',
      type: [ClusterNode],
      resolve: ({ cluster, status }, _args, context) => [...walk(context, nodeViews(cluster.nodes, status))],
    }),
  }),
});

const CLUSTERS: RowList = { kind: 'Cluster', key: 'id', direction: 'asc' };

builder.prismaObjectFields(Project, (t) => ({
  clusterHealth: t.field({
    description: 'Health of the clusters of the project, in order of creation.',
    type: [ClusterHealthType],
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: ({ id }, _args, { services, viewer }) =>
      Promise.all(
        services.clusters
          .visibleIn(id, viewer)
          .map(async (cluster) => ({ cluster, status: await services.clusters.status(cluster) })),
      ),
  }),
  clusters: t.connection(
    {
      description: 'Clusters of the project, in order of creation.',
      type: Cluster,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Number of entries to skip.' }) },
      resolve: ({ id }, args, context, info) => {
        const { db, viewer } = context;
        const visible = visibleClusters(id, viewer);
        return rowConnection(CLUSTERS, args, context, info, {
          find: ({ where, ...query }) => db.cluster.findMany({ ...query, where: { AND: [visible, where] } }),
          count: () => db.cluster.count({ where: visible }),
        });
      },
    },
    {
      name: 'ClusterConnection',
      description: 'A page of clusters.',
      fields: (page) => totalCount(page, 'Number of all clusters.'),
    },
    { name: 'ClusterEdge' },
  ),
  cluster: t.field({
    description: 'A cluster of the project. The id of a cluster of another project is NOT_FOUND.',
    type: Cluster,
    nullable: true,
    args: { id: t.arg.id({ description: 'Id of the cluster.', required: true }) },
    resolve: (project, { id }, { services, viewer }) =>
      services.clusters.visible(swapClusterId(id), viewer, 'VIEWER', project.id),
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  cluster: t.field({
    description:
      'The cluster that this entry represents or is a node of. Null if there is none or the caller may not see it.',
    type: Cluster,
    nullable: true,
    resolve: (broker, _args, { services, viewer }) => services.clusters.ofBroker(broker, viewer),
  }),
  clusterNode: t.field({
    description:
      'The cluster node of this broker. For an entry that represents a cluster: the contact node, whose metrics, `$SYS` topics and license are returned for the cluster. Null if there is none or the caller may not see it.',
    type: ClusterNode,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, context) => {
      const found = context.services.clusters.nodeOf(broker, context.viewer);
      return found && nodeView(found.cluster, found.node.nodeId, context);
    },
  }),
}));

import { builder } from '../../../gateway/graphql/builder.ts';
import { pageCost, QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { listConnection } from '../../../gateway/paging.ts';
import { ERROR_STATUS, ServiceError } from '../../../platform/errors.ts';
import { Broker, ClusterMode } from '../../brokers/broker-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import type { ClusterResult } from '../cluster-service.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { NodeOutcome } from '../model/cluster-driver.ts';
import type { ClusterStatus, NodeDifference, NodeRaft, NodeStatus, NodeSync } from '../model/cluster-status.ts';

export const ClusterState = builder.enumType('ClusterState', {
  description: 'Whether a cluster serves.',
  values: {
    ACTIVE: { description: 'All nodes are reached, and nothing is wrong with them.' },
    DEGRADED: { description: 'It serves, and something is wrong.' },
    INACTIVE: { description: 'It does not serve.' },
  } as const,
});

const ClusterKeeper = builder.enumType('ClusterKeeper', {
  description: 'Who holds a cluster together.',
  values: {
    BROKER: { description: 'The brokers themselves, by `cedalo/ha`.' },
    GATEWAY: { description: 'This service: it keeps the access control of the nodes equal.' },
  } as const,
});

const RaftState = builder.enumType('RaftState', {
  description: 'What a node of a cluster that votes is just now.',
  values: {
    UNAVAILABLE: { description: 'It takes no part.' },
    FOLLOWER: { description: 'It follows a leader.' },
    CANDIDATE: { description: 'It asks to be elected.' },
    LEADER: { description: 'It leads.' },
  } as const,
});

const RaftRole = builder.enumType('RaftRole', {
  description: 'What a node of a cluster that votes is for.',
  values: {
    STANDBY: { description: 'It has the data, and no vote.' },
    VOTER: { description: 'It has a vote.' },
    SPARE: { description: 'It has neither.' },
  } as const,
});

const NodeSyncState = builder.enumType('NodeSyncState', {
  description: 'How the access control of a node stands to that of its cluster.',
  values: {
    EQUAL: { description: 'It is that of the cluster.' },
    BEHIND: {
      description: 'It lacks changes: it was away, or refused them. It is brought up to date when it is reached.',
    },
    DRIFTED: { description: 'Somebody else changed it.' },
    UNKNOWN: { description: 'It cannot be asked, or was not yet.' },
  } as const,
});

const DifferenceKind = builder.enumType('AccessObjectKind', {
  description: 'A part of access control.',
  values: {
    ROLE: { description: 'A role with its ACLs.' },
    GROUP: { description: 'A group with its roles and clients.' },
    CLIENT: { description: 'An account; its password cannot be compared.' },
    DEFAULT_ACL: { description: 'What is allowed where no ACL says.' },
    ANONYMOUS_GROUP: { description: 'The group of clients that give no name.' },
  } as const satisfies Record<NodeDifference['kind'], object>,
});

const NodeDifferenceType = builder.objectRef<NodeDifference>('NodeDifference').implement({
  description: 'A part of access control that is not as the cluster has it.',
  fields: (t) => ({
    kind: t.field({ description: 'What it is.', type: DifferenceKind, resolve: ({ kind }) => kind }),
    name: t.exposeString('name', { description: 'Empty where there is one of it.' }),
  }),
});

const NodeSyncType = builder.objectRef<NodeSync>('NodeSync').implement({
  description: 'Whether a node has the access control of its cluster.',
  fields: (t) => ({
    state: t.field({ description: 'As it was found last.', type: NodeSyncState, resolve: ({ state }) => state }),
    since: t.field({
      description: 'Since when it is so.',
      type: 'DateTime',
      resolve: ({ since }) => new Date(since),
    }),
    differences: t.field({
      description: 'What is not as the cluster has it; the first 100.',
      type: [NodeDifferenceType],
      resolve: ({ differences }) => [...differences],
    }),
    differenceCount: t.exposeInt('differenceCount', { description: 'All of them.' }),
    missingPasswords: t.stringList({
      description:
        'Accounts that may have another password here, or none: it was set while the node was away, and is not kept. Set it again.',
      resolve: ({ missingPasswords }) => [...missingPasswords],
    }),
  }),
});

const COUNTER = { nullable: true } as const;
const NodeRaftType = builder.objectRef<NodeRaft>('NodeRaft').implement({
  description: 'What a node of a cluster that votes says of itself.',
  fields: (t) => ({
    state: t.field({ description: 'Just now.', type: RaftState, resolve: ({ state }) => state }),
    role: t.field({
      description: 'Null: it does not say.',
      type: RaftRole,
      nullable: true,
      resolve: ({ role }) => role,
    }),
    term: t.exposeFloat('term', { ...COUNTER, description: 'Of elections.' }),
    commitIndex: t.exposeFloat('commitIndex', { ...COUNTER, description: 'The last entry that most nodes have.' }),
    lastApplied: t.exposeFloat('lastApplied', { ...COUNTER, description: 'The last entry that it acted on.' }),
    lastStored: t.exposeFloat('lastStored', { ...COUNTER, description: 'The last entry that it has.' }),
  }),
});

const ClusterNodeError = builder.objectRef<{ readonly code: string; readonly message: string }>('ClusterNodeError');
ClusterNodeError.implement({
  description: 'What is wrong with a node.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'As in the errors of the graph.' }),
    message: t.exposeString('message', { description: 'For people.' }),
  }),
});

const told = (error: ServiceError | null) => error && { code: error.code, message: error.message };

const statusOf = (error: ServiceError | null) => (error === null ? 200 : ERROR_STATUS[error.code]);

export const NodeOutcomeType = builder.objectRef<NodeOutcome>('ClusterNodeOutcome').implement({
  description: 'What became of something on one node.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Of the node.' }),
    brokerId: t.exposeID('brokerId', { description: 'The entry by which this service reaches it.' }),
    done: t.boolean({
      description: 'False: it was not, because of this node, or of another one that has an error.',
      resolve: ({ error, isSkipped }) => error === null && !isSkipped,
    }),
    error: t.field({
      description: 'Why it could not be done here; null: it could.',
      type: ClusterNodeError,
      nullable: true,
      resolve: ({ error }) => told(error),
    }),
  }),
});

export const ClusterResultType = builder.objectRef<ClusterResult>('ClusterResult').implement({
  description: 'What became of something with one cluster of several.',
  fields: (t) => ({
    clusterId: t.id({ description: 'That it has, or had.', resolve: ({ cluster }) => cluster.id }),
    name: t.string({ description: 'That it has, or had.', resolve: ({ cluster }) => cluster.name }),
    status: t.int({
      description: 'As the REST interface would answer for it alone: 200, or that of the error.',
      resolve: ({ error }) => statusOf(error),
    }),
    success: t.boolean({ description: 'There is no error.', resolve: ({ error }) => error === null }),
    error: t.field({
      description: 'Null: there is none.',
      type: ClusterNodeError,
      nullable: true,
      resolve: ({ error }) => told(error),
    }),
    nodes: t.field({
      description: 'What became of each node, by number.',
      type: [NodeOutcomeType],
      resolve: ({ outcomes }) => [...outcomes],
    }),
  }),
});

/** What a node is, and how it is; null: not asked. */
export interface NodeView {
  readonly node: ClusterNodeRecord;
  readonly status: NodeStatus | null;
}

export const ClusterNode = builder.objectRef<NodeView>('ClusterNode').implement({
  description: 'A broker as a part of a cluster.',
  fields: (t) => ({
    nodeId: t.int({ description: 'From 1, no other node of the cluster has it.', resolve: ({ node }) => node.nodeId }),
    name: t.string({ description: 'For people.', resolve: ({ node }) => node.name }),
    address: t.string({ description: 'Where other nodes reach it.', resolve: ({ node }) => node.address }),
    port: t.int({ description: 'Where other nodes reach it.', resolve: ({ node }) => node.port }),
    brokerId: t.id({
      description: 'The entry by which this service reaches it.',
      resolve: ({ node }) => node.brokerId,
    }),
    broker: t.field({
      description: 'The entry by which this service reaches it; null: the caller does not see it.',
      type: Broker,
      nullable: true,
      resolve: ({ node }, _args, { services, viewer }) => services.brokers.seen(node.brokerId, viewer),
    }),
    url: t.string({
      description: 'By which this service reaches it; null: the caller does not see its broker.',
      nullable: true,
      resolve: ({ node }, _args, { services, viewer }) => services.brokers.seen(node.brokerId, viewer)?.url ?? null,
    }),
    isReachable: t.boolean({ description: 'It can be asked.', resolve: ({ status }) => status?.isReachable ?? false }),
    isLeader: t.boolean({
      description: 'The one by which the cluster is asked: the leader, or of those kept equal the one that is read.',
      resolve: ({ status }) => status?.isLeader ?? false,
    }),
    raft: t.field({
      description: 'Null where this service keeps the cluster, or the node does not say.',
      type: NodeRaftType,
      nullable: true,
      resolve: ({ status }) => status?.raft ?? null,
    }),
    lag: t.float({
      description: 'How many entries, or changes, it lacks; null: not known.',
      nullable: true,
      resolve: ({ status }) => status?.lag ?? null,
    }),
    sync: t.field({
      description: 'Null where the brokers keep the cluster.',
      type: NodeSyncType,
      nullable: true,
      resolve: ({ status }) => status?.sync ?? null,
    }),
    error: t.field({
      description: 'Why it cannot be asked, or what is wrong; null: nothing.',
      type: ClusterNodeError,
      nullable: true,
      resolve: ({ status }) => told(status?.error ?? null),
    }),
  }),
});

/** The nodes of a cluster with what was found out of each. */
export const nodeViews = ({ nodes }: ClusterRecord, status: ClusterStatus): NodeView[] => {
  const known = new Map(status.nodes.map((one) => [one.nodeId, one]));
  return nodes.map((node) => ({ node, status: known.get(node.nodeId) ?? null }));
};

export const Cluster = builder.objectRef<ClusterRecord>('Cluster');
Cluster.implement({
  description: 'Several brokers that are one to those who manage them, and as `mode` says to their clients.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'That of the broker entry that stands for it.' }),
    name: t.exposeString('name', { description: 'For people.' }),
    mode: t.field({ description: 'What the nodes have in common.', type: ClusterMode, resolve: ({ mode }) => mode }),
    keeper: t.field({ description: 'Who holds it together.', type: ClusterKeeper, resolve: ({ keeper }) => keeper }),
    autoRepair: t.exposeBoolean('autoRepair', {
      description:
        'Where this service keeps it: a node that somebody else changed is brought back without being asked.',
    }),
    createdAt: t.expose('createdAt', { description: 'When it was made here.', type: 'DateTime' }),
    project: t.field({
      description: 'Where it belongs.',
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    broker: t.field({
      description: 'The entry that stands for it: what is done with that is done with the cluster.',
      type: Broker,
      resolve: ({ id }, _args, { services, viewer }) => services.brokers.visible(id, viewer),
    }),
    state: t.field({
      description: 'As its nodes tell.',
      type: ClusterState,
      complexity: QUESTION_COST,
      resolve: async (cluster, _args, { services }) => (await services.clusters.status(cluster)).state,
    }),
    nodes: t.field({
      description: 'By number.',
      type: [ClusterNode],
      complexity: QUESTION_COST,
      resolve: async (cluster, _args, context) => [
        ...walk(context, nodeViews(cluster, await context.services.clusters.status(cluster))),
      ],
    }),
  }),
});

interface ClusterHealth {
  readonly cluster: ClusterRecord;
  readonly status: ClusterStatus;
}

/** What the REST interface would answer for the cluster alone. */
const troubleOf = ({ status: { state, nodes } }: ClusterHealth) => {
  if (state !== 'INACTIVE') return null;
  const error = nodes.find((node) => node.error !== null)?.error;
  return error ?? new ServiceError('BROKER_UNREACHABLE', 'None of its nodes serves');
};

const ClusterHealthType = builder.objectRef<ClusterHealth>('ClusterHealth').implement({
  description: 'How one cluster of a project is.',
  fields: (t) => ({
    cluster: t.field({ description: 'Which one it is.', type: Cluster, resolve: ({ cluster }) => cluster }),
    clusterId: t.id({ description: 'Of the cluster.', resolve: ({ cluster }) => cluster.id }),
    name: t.string({ description: 'Of the cluster.', resolve: ({ cluster }) => cluster.name }),
    state: t.field({ description: 'Of the cluster.', type: ClusterState, resolve: ({ status }) => status.state }),
    status: t.int({
      description: 'As the REST interface would answer for it alone: 200, or that of the error.',
      resolve: (health) => statusOf(troubleOf(health)),
    }),
    success: t.boolean({ description: 'It serves.', resolve: ({ status }) => status.state !== 'INACTIVE' }),
    error: t.field({
      description: 'Why it does not serve; null: it does.',
      type: ClusterNodeError,
      nullable: true,
      resolve: (health) => told(troubleOf(health)),
    }),
    nodes: t.field({
      description: 'By number.',
      type: [ClusterNode],
      resolve: ({ cluster, status }, _args, context) => [...walk(context, nodeViews(cluster, status))],
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  clusterHealth: t.field({
    description: 'How its clusters are, in order of creation.',
    type: [ClusterHealthType],
    complexity: QUESTION_COST,
    resolve: ({ id }, _args, { services, viewer }) =>
      Promise.all(
        services.clusters
          .visibleIn(id, viewer)
          .map(async (cluster) => ({ cluster, status: await services.clusters.status(cluster) })),
      ),
  }),
  clusters: t.connection(
    {
      description: 'In order of creation.',
      type: Cluster,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Entries left out at the start.' }) },
      resolve: ({ id }, args, { services, viewer }) => listConnection(services.clusters.visibleIn(id, viewer), args),
    },
    {
      name: 'ClusterConnection',
      description: 'A page of the clusters of a project.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Of the whole list.' }),
      }),
    },
    { name: 'ClusterEdge', description: 'One of them, and its place in the list.' },
  ),
  cluster: t.field({
    description: 'One of its clusters; an id of another project is NOT_FOUND.',
    type: Cluster,
    nullable: true,
    args: { id: t.arg.id({ description: 'Of the cluster.', required: true }) },
    resolve: (project, { id }, { services, viewer }) => services.clusters.visible(id, viewer, 'VIEWER', project.id),
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  cluster: t.field({
    description: 'The cluster that this entry stands for, or is a node of; null: none that the caller sees.',
    type: Cluster,
    nullable: true,
    resolve: (broker, _args, { services, viewer }) => services.clusters.around(broker, viewer),
  }),
  clusterNode: t.field({
    description:
      'The node that this broker is. Of the entry that stands for a cluster, the node by which it is reached now: its metrics, its `$SYS` topics and its license are told there. Null: none that the caller sees.',
    type: ClusterNode,
    nullable: true,
    complexity: QUESTION_COST,
    resolve: async (broker, _args, { services, viewer }) => {
      const placed = services.clusters.nodeAround(broker, viewer);
      if (placed === null) return null;
      const views = nodeViews(placed.cluster, await services.clusters.status(placed.cluster));
      return views.find(({ node }) => node.nodeId === placed.node.nodeId) ?? null;
    },
  }),
}));

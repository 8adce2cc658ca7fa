import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import type { ServiceError } from '../../../platform/errors.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { NodeOutcome } from '../model/cluster-driver.ts';
import type { ClusterStatus, NodeDifference, NodeRaft, NodeStatus, NodeSync } from '../model/cluster-status.ts';

const RaftState = builder.enumType('RaftState', {
  description: 'Raft state of a node.',
  values: {
    UNAVAILABLE: { description: 'The node does not take part in the cluster.' },
    FOLLOWER: { description: 'The node follows a leader.' },
    CANDIDATE: { description: 'The node is a candidate in an election.' },
    LEADER: { description: 'The node is the leader.' },
  } as const,
});

const RaftRole = builder.enumType('RaftRole', {
  description: 'Raft role of a node.',
  values: {
    STANDBY: { description: 'The node has the data and no vote.' },
    VOTER: { description: 'The node has the data and a vote.' },
    SPARE: { description: 'The node has neither data nor a vote.' },
  } as const,
});

const NodeSyncState = builder.enumType('NodeSyncState', {
  description: "Synchronization state of a node's access control.",
  values: {
    EQUAL: { description: 'The node has the access control of the cluster.' },
    BEHIND: {
      description:
        'The node lacks changes, because it was away or refused them. It is synchronized as soon as it is reachable.',
    },
    DRIFTED: { description: 'Another client changed the access control of the node.' },
    UNKNOWN: { description: 'The node is not reachable, or was not compared yet.' },
  } as const,
});

const DifferenceKind = builder.enumType('AccessObjectKind', {
  description: 'Kind of an access control object.',
  values: {
    ROLE: { description: 'A role with its ACLs.' },
    GROUP: { description: 'A group with its roles and clients.' },
    CLIENT: { description: 'An account. Its password cannot be compared.' },
    DEFAULT_ACL: { description: 'The default ACL access.' },
    ANONYMOUS_GROUP: { description: 'The group of clients without a user name.' },
  } as const satisfies Record<NodeDifference['kind'], object>,
});

const NodeDifferenceType = builder.objectRef<NodeDifference>('NodeDifference').implement({
  description: 'A difference between the access control of a node and that of its cluster.',
  fields: (t) => ({
    kind: t.expose('kind', { description: 'Kind of the object.', type: DifferenceKind }),
    name: t.exposeString('name', { description: 'Name of the object. Empty for objects that exist once.' }),
  }),
});

const NodeSyncType = builder.objectRef<NodeSync>('NodeSync').implement({
  description: "Synchronization of a node's access control.",
  fields: (t) => ({
    state: t.expose('state', { description: 'Result of the last comparison.', type: NodeSyncState }),
    since: t.field({
      description: 'When the node entered this state.',
      type: 'DateTime',
      resolve: ({ since }) => new Date(since),
    }),
    differences: t.field({
      description: 'The first 100 differences from the access control of the cluster.',
      type: [NodeDifferenceType],
      resolve: ({ differences }) => [...differences],
    }),
    differenceCount: t.exposeInt('differenceCount', { description: 'Number of all differences.' }),
    missingPasswords: t.stringList({
      description:
        'Accounts that may have no or another password on this node. The password was set while the node was away, and is not stored. Set it again.',
      resolve: ({ missingPasswords }) => [...missingPasswords],
    }),
  }),
});

const COUNTER = { nullable: true } as const;
const NodeRaftType = builder.objectRef<NodeRaft>('NodeRaft').implement({
  description: 'Raft status that a node reports.',
  fields: (t) => ({
    state: t.expose('state', { description: 'Current Raft state.', type: RaftState }),
    role: t.expose('role', {
      description: 'Raft role. Null if the node does not report it.',
      type: RaftRole,
      nullable: true,
    }),
    term: t.exposeFloat('term', { ...COUNTER, description: 'Current Raft term.' }),
    commitIndex: t.exposeFloat('commitIndex', { ...COUNTER, description: 'Index of the last committed entry.' }),
    lastApplied: t.exposeFloat('lastApplied', {
      ...COUNTER,
      description: 'Index of the last entry that the node applied.',
    }),
    lastStored: t.exposeFloat('lastStored', {
      ...COUNTER,
      description: 'Index of the last entry that the node stored.',
    }),
  }),
});

export const ClusterNodeError = builder
  .objectRef<{ readonly code: string; readonly message: string }>('ClusterNodeError')
  .implement({
    description: 'Error of a node.',
    fields: (t) => ({
      code: t.exposeString('code', { description: 'Error code, as in `extensions.code`.' }),
      message: t.exposeString('message', { description: 'Error message.' }),
    }),
  });

export const errorView = (error: ServiceError | null) => error && { code: error.code, message: error.message };

export const NodeOutcomeType = builder.objectRef<NodeOutcome>('ClusterNodeOutcome').implement({
  description: 'Result of an operation on one node.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Number of the node.' }),
    brokerId: t.exposeID('brokerId', {
      description: 'Id of the broker entry through which this service connects to the node.',
    }),
    done: t.boolean({
      description: 'Whether the operation succeeded on this node. False if this node or another node failed.',
      resolve: ({ error, isSkipped }) => error === null && !isSkipped,
    }),
    error: t.field({
      description: 'Error of this node. Null if it did not fail.',
      type: ClusterNodeError,
      nullable: true,
      resolve: ({ error }) => errorView(error),
    }),
  }),
});

interface NodeView extends ClusterNodeRecord {
  /** `null` if the status is not known. */
  readonly status: NodeStatus | null;
}

export const ClusterNode = builder.objectRef<NodeView>('ClusterNode').implement({
  description: 'A broker that is a node of a cluster.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Number of the node from 1, unique in the cluster.' }),
    name: t.exposeString('name', { description: 'Name of the node.' }),
    address: t.exposeString('address', { description: 'Address at which the other nodes connect to the node.' }),
    port: t.exposeInt('port', { description: 'Port at which the other nodes connect to the node.' }),
    brokerId: t.exposeID('brokerId', {
      description: 'Id of the broker entry through which this service connects to the node.',
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
      resolve: ({ status }) => status?.isReachable ?? false,
    }),
    isLeader: t.boolean({
      description:
        'Whether requests for the cluster are sent to this node: the leader, or in synchronized clusters the node that is read.',
      resolve: ({ status }) => status?.isLeader ?? false,
    }),
    raft: t.field({
      description: 'Raft status. Null if this service synchronizes the cluster, or if the node does not report it.',
      type: NodeRaftType,
      nullable: true,
      resolve: ({ status }) => status?.raft ?? null,
    }),
    lag: t.float({
      description: 'Number of entries or changes that the node lacks. Null if unknown.',
      nullable: true,
      resolve: ({ status }) => status?.lag ?? null,
    }),
    sync: t.field({
      description: 'Synchronization of the access control. Null if the brokers synchronize the cluster themselves.',
      type: NodeSyncType,
      nullable: true,
      resolve: ({ status }) => status?.sync ?? null,
    }),
    error: t.field({
      description: 'Why the node is not reachable, or what is wrong with it. Null if nothing is wrong.',
      type: ClusterNodeError,
      nullable: true,
      resolve: ({ status }) => errorView(status?.error ?? null),
    }),
  }),
});

export const nodeViews = ({ nodes }: ClusterRecord, status: ClusterStatus): NodeView[] => {
  const known = new Map(status.nodes.map((one) => [one.nodeId, one]));
  return nodes.map((node) => ({ ...node, status: known.get(node.nodeId) ?? null }));
};

export async function nodeView(cluster: ClusterRecord, nodeId: number, { services }: RequestContext) {
  const views = nodeViews(cluster, await services.clusters.status(cluster));
  return views.find((view) => view.nodeId === nodeId) ?? null;
}

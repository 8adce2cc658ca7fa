import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import type { VersionFeature, VersionRule } from '../../../protocol/apis/access-control/version-rules.ts';
import { AclType } from '../../access-control/graph/access-rules-schema.ts';
import type { NodeDifference, NodeRaft, NodeSync } from '../model/cluster.ts';

const RaftState = describedEnum('RaftState', 'Raft state of a node.', {
  UNAVAILABLE: 'The node does not take part in the cluster.',
  FOLLOWER: 'The node follows a leader.',
  CANDIDATE: 'The node is a candidate in an election.',
  LEADER: 'The node is the leader.',
});

const RaftRole = describedEnum('RaftRole', 'Raft role of a node.', {
  STANDBY: 'The node has the data and no vote.',
  VOTER: 'The node has the data and a vote.',
  SPARE: 'The node has neither data nor a vote.',
});

const NodeSyncState = describedEnum('NodeSyncState', "Synchronization state of a node's access control.", {
  EQUAL: 'The node has the access control of the cluster.',
  BEHIND: 'The node lacks changes, because it was away or refused them. It is synchronized as soon as it is reachable.',
  DRIFTED: 'Another client changed the access control of the node, or the version of its broker cannot keep a rule.',
  UNKNOWN: 'The node is not reachable, or was not compared yet.',
});

const DifferenceKind = describedEnum<NodeDifference['kind']>('AccessObjectKind', 'Kind of an access control object.', {
  ROLE: 'A role with its ACLs.',
  GROUP: 'A group with its roles and clients.',
  CLIENT: 'An account. Its password cannot be compared.',
  DEFAULT_ACL: 'The default ACL access.',
  ANONYMOUS_GROUP: 'The group of clients without a user name.',
});

const VersionFeatureType = describedEnum<VersionFeature>(
  'VersionFeature',
  'What brokers before Mosquitto 2.1 evaluate differently.',
  {
    SUBSTITUTION: 'The rule has %c or %u, which an older broker does not replace. The older broker cannot keep it.',
    WILDCARD_FLAG:
      'The role denies subscriptions with wildcards, which an older broker does not support. The older broker cannot keep it.',
    FILTER_MATCHING:
      'A rule for subscriptions that begins with a wildcard, or is /# or not a valid filter. On an older broker it also matches filters that begin with $, such as shared subscriptions, or that are wider than the rule.',
  },
);

const DifferingRule = builder.objectRef<VersionRule>('DifferingRule').implement({
  description: 'A rule of a cluster that a node evaluates otherwise than newer nodes, or cannot keep.',
  fields: (t) => ({
    feature: t.expose('feature', { description: 'Why the node differs.', type: VersionFeatureType }),
    roleName: t.exposeString('rolename', { description: 'The role that has the rule.' }),
    aclType: t.field({
      description: 'Type of the rule. null: the role denies subscriptions with wildcards.',
      type: AclType,
      nullable: true,
      resolve: ({ rule }) => rule?.aclType ?? null,
    }),
    topic: t.string({
      description: 'Topic of the rule. null: the role denies subscriptions with wildcards.',
      nullable: true,
      resolve: ({ rule }) => rule?.topic ?? null,
    }),
  }),
});

const NodeDifferenceType = builder.objectRef<NodeDifference>('NodeDifference').implement({
  description: 'A difference between the access control of a node and that of its cluster.',
  fields: (t) => ({
    kind: t.expose('kind', { description: 'Kind of the object.', type: DifferenceKind }),
    name: t.exposeString('name', { description: 'Name of the object. Empty for objects that exist once.' }),
  }),
});

export const NodeSyncType = builder.objectRef<NodeSync>('NodeSync').implement({
  description: "Synchronization of a node's access control.",
  fields: (t) => ({
    state: t.expose('state', { description: 'Result of the last comparison.', type: NodeSyncState }),
    since: knownTimeField(t, 'When the node entered this state.', ({ since }) => since),
    differences: t.field({
      description: 'The first 100 differences from the access control of the cluster.',
      type: [NodeDifferenceType],
      resolve: ({ differences }) => [...differences],
    }),
    differenceCount: t.exposeInt('differenceCount', { description: 'Number of all differences.' }),
    differingRules: t.field({
      description:
        'The first 100 rules that the node evaluates otherwise than newer nodes of the cluster, or cannot keep, because of the version of its broker. null: the version is not known.',
      type: [DifferingRule],
      nullable: true,
      resolve: ({ differingRules }) => differingRules && [...differingRules],
    }),
    missingPasswords: t.stringList({
      description:
        'Accounts that may have no or another password on this node. The password was set while the node was away, and is not stored. Set it again.',
      resolve: ({ missingPasswords }) => [...missingPasswords],
    }),
  }),
});

const COUNTER = { nullable: true } as const;
export const NodeRaftType = builder.objectRef<NodeRaft>('NodeRaft').implement({
  description: 'Raft status that a node reports.',
  fields: (t) => ({
    state: t.expose('state', { description: 'Current Raft state.', type: RaftState }),
    role: t.expose('role', {
      description: 'Raft role. Null if the node does not report it.',
      type: RaftRole,
      nullable: true,
    }),
    term: t.expose('term', { type: 'SafeInt', ...COUNTER, description: 'Current Raft term.' }),
    commitIndex: t.expose('commitIndex', {
      type: 'SafeInt',
      ...COUNTER,
      description: 'Index of the last committed entry.',
    }),
    lastApplied: t.expose('lastApplied', {
      type: 'SafeInt',
      ...COUNTER,
      description: 'Index of the last entry that the node applied.',
    }),
    lastStored: t.expose('lastStored', {
      type: 'SafeInt',
      ...COUNTER,
      description: 'Index of the last entry that the node stored.',
    }),
  }),
});

import type { RequestContext } from '../../../gateway/context.ts';
import { builder, inProject, type Requirement, requires } from '../../../gateway/graphql/builder.ts';
import type { ProjectRole } from '../../../platform/auth/viewer.ts';
import { mayControl, requireWholeProject } from '../../../platform/auth/viewer.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker, ClusterMode } from '../../brokers/broker-schema.ts';
import type { ClusterResult, DeletedCluster } from '../cluster-service.ts';
import type { ClusterRecord } from '../model/cluster.ts';
import { Cluster, ClusterResultType, NodeOutcomeType } from './cluster-schema.ts';

interface Target {
  readonly input: { readonly clusterId: string; readonly projectId?: string | null | undefined };
}

/** The role in the project of the cluster; not for tokens that are restricted to brokers, as what a cluster is concerns others. */
const onCluster = (role: ProjectRole, more: Pick<Requirement, 'requiresForControl'> = {}) => ({
  authScopes: (_parent: unknown, { input }: Target, { viewer, services }: RequestContext) => {
    services.clusters.visible(input.clusterId, viewer, role, input.projectId);
    if (viewer !== null) requireWholeProject(viewer);
    return true;
  },
  ...requires(role, { ...more, elsewhere: 'NOT_FOUND' }),
});

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

const target = (t: InputFields) => ({
  clusterId: t.id({ description: 'The cluster that it is about.', required: true }),
  projectId: t.id({ description: 'When given, the cluster must be in this project.' }),
});

const AS_ENTRY = 'When given, it must be so in the entry of the broker, by which the node is reached.';
const BROKER_ID =
  'A broker of the project that is in no cluster. Where only the leader takes ordinary clients: an entry with a listener that works on followers, too.';
const NODE_ID = 'From 1; no other node of the cluster has it.';
const NAME = 'For people.';
const ADDRESS = 'Where the other nodes reach it.';
const PORT = 'Where the other nodes reach it.';

const connectionFields = (t: InputFields) => ({
  username: t.string({ description: AS_ENTRY }),
  password: t.string({ description: AS_ENTRY }),
  caCert: t.string({ description: AS_ENTRY }),
  caCertFile: t.string({ description: AS_ENTRY }),
  clientCert: t.string({ description: AS_ENTRY }),
  clientCertFile: t.string({ description: AS_ENTRY }),
  clientKey: t.string({ description: AS_ENTRY }),
  clientKeyFile: t.string({ description: AS_ENTRY }),
});

const ClusterNodeInput = builder.inputType('ClusterNodeInput', {
  description: 'A broker that is to be a node.',
  fields: (t) => ({
    brokerId: t.id({ description: BROKER_ID, required: true }),
    nodeId: t.int({ description: NODE_ID, required: true }),
    name: t.string({ description: NAME, required: true }),
    address: t.string({ description: ADDRESS, required: true }),
    port: t.int({ description: PORT, required: true }),
    url: t.string({ description: AS_ENTRY }),
    ...connectionFields(t),
  }),
});

const CreateClusterInput = builder.inputType('CreateClusterInput', {
  description: 'A new cluster of brokers that are there.',
  fields: (t) => ({
    projectId: t.id({ description: 'Where it will belong.', required: true }),
    name: t.string({ description: 'For people.', required: true }),
    mode: t.field({ description: 'What the nodes are to have in common.', type: ClusterMode, required: true }),
    nodes: t.field({
      description: 'The first by number gives the others its access control.',
      type: [ClusterNodeInput],
      required: true,
    }),
  }),
});

const JoinClusterInput = builder.inputType('JoinClusterInput', {
  description: 'Which broker becomes a node.',
  fields: (t) => ({
    ...target(t),
    brokerId: t.id({ description: `${BROKER_ID} Needed where \`url\` is not given.` }),
    url: t.string({ description: `${AS_ENTRY} Without \`brokerId\` it names the broker.` }),
    nodeId: t.int({ description: `${NODE_ID} Without it: the next one.` }),
    name: t.string({ description: `${NAME} Without it: that of the broker.` }),
    address: t.string({ description: `${ADDRESS} Without it: the host of the broker’s address.` }),
    port: t.int({ description: `${PORT} Without it: that of the node with the lowest number.` }),
    ...connectionFields(t),
  }),
});

const LeaveClusterInput = builder.inputType('LeaveClusterInput', {
  description: 'Which node leaves: the one that all that is given is true of.',
  fields: (t) => ({
    ...target(t),
    nodeId: t.int({ description: 'Its number.' }),
    brokerId: t.id({ description: 'Its broker.' }),
    url: t.string({ description: 'The address in the entry of its broker.' }),
  }),
});

const UpdateClusterInput = builder.inputType('UpdateClusterInput', {
  description: 'Only what is given changes.',
  fields: (t) => ({
    ...target(t),
    name: t.string({ description: 'For people.' }),
    autoRepair: t.boolean({
      description: 'Where this service keeps it: bring back by itself a node that somebody else changed.',
    }),
  }),
});

const RepairClusterNodeInput = builder.inputType('RepairClusterNodeInput', {
  description: 'Which node somebody else changed, and what counts.',
  fields: (t) => ({
    ...target(t),
    nodeId: t.int({ description: 'Of the node.', required: true }),
    adopt: t.boolean({
      description: 'True: what the node has is what the cluster has from now on. False: the other way round.',
      defaultValue: false,
    }),
  }),
});

const DeleteClusterInput = builder.inputType('DeleteClusterInput', {
  description: 'Which cluster to dissolve.',
  fields: (t) => ({
    ...target(t),
    name: t.string({ description: 'When given, the cluster must have it: a guard against mistakes.' }),
    purge: t.boolean({
      description: 'Forget it here also where brokers could not be told; else nothing is done then.',
      defaultValue: false,
    }),
  }),
});

/** Of the entry that stands for a cluster; it has no secrets. */
const ClusterEntryConnection = builder.objectRef<BrokerRecord>('ClusterEntryConnection').implement({
  description: 'How the entry that stands for a cluster leads to it.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Of the entry, and the cluster.' }),
    url: t.exposeString('url', { description: 'Of the node that is asked for the cluster first.', nullable: true }),
    username: t.exposeString('username', { description: 'That this service connects as.', nullable: true }),
    caCert: t.exposeString('caCert', { description: 'PEM.', nullable: true }),
    caCertFile: t.exposeString('caCertFile', { description: 'As that of the broker.', nullable: true }),
    clientCert: t.exposeString('clientCert', { description: 'PEM.', nullable: true }),
    clientCertFile: t.exposeString('clientCertFile', { description: 'As that of the broker.', nullable: true }),
    clientKeyFile: t.exposeString('clientKeyFile', { description: 'As that of the broker.', nullable: true }),
    verifyCaCert: t.int({
      description: '1: certificates of brokers are verified; 0: they are not.',
      resolve: ({ verifyCaCert }) => Number(verifyCaCert),
    }),
  }),
});

const ClusterPayload = builder.objectRef<{ readonly cluster: ClusterRecord }>('ClusterPayload').implement({
  description: 'The cluster that something was done to.',
  fields: (t) => ({
    cluster: t.field({ description: 'As it is after that.', type: Cluster, resolve: ({ cluster }) => cluster }),
    connection: t.field({
      description: 'How the entry that stands for it leads to it.',
      type: ClusterEntryConnection,
      resolve: ({ cluster }, _args, { services, viewer }) => services.brokers.visible(cluster.id, viewer),
    }),
    broker: t.field({
      description: 'The entry that stands for it.',
      type: Broker,
      resolve: ({ cluster }, _args, { services, viewer }) => services.brokers.visible(cluster.id, viewer),
    }),
  }),
});

const DeleteClustersInput = builder.inputType('DeleteClustersInput', {
  description: 'Whose clusters to dissolve.',
  fields: (t) => ({
    projectId: t.id({ description: 'The project.', required: true }),
    purge: t.boolean({
      description: 'Forget clusters here also where brokers could not be told; else nothing is done with these.',
      defaultValue: false,
    }),
  }),
});

const DeleteClustersPayload = builder
  .objectRef<{ readonly results: readonly ClusterResult[] }>('DeleteClustersPayload')
  .implement({
    description: 'What became of the clusters of a project.',
    fields: (t) => ({
      results: t.field({
        description: 'One for each cluster, in order of creation.',
        type: [ClusterResultType],
        resolve: ({ results }) => [...results],
      }),
    }),
  });

const DeleteClusterPayload = builder.objectRef<DeletedCluster>('DeleteClusterPayload').implement({
  description: 'What became of a cluster that was to be dissolved.',
  fields: (t) => ({
    deletedClusterId: t.id({ description: 'That it had.', resolve: ({ cluster }) => cluster.id }),
    success: t.boolean({
      description: 'Every node was told. False only with `purge`.',
      resolve: ({ outcomes }) => outcomes.every(({ error }) => error === null),
    }),
    nodes: t.field({
      description: 'What became of each node, by number.',
      type: [NodeOutcomeType],
      resolve: ({ outcomes }) => [...outcomes],
    }),
  }),
});

builder.mutationFields((t) => ({
  createCluster: t.field({
    description:
      'Makes brokers a cluster, and an entry that stands for it. All or nothing: where a node refuses, those before it are brought back.',
    type: ClusterPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ description: 'The new cluster.', type: CreateClusterInput, required: true }) },
    resolve: async (_root, { input: { projectId, ...cluster } }, { services }) => ({
      cluster: await services.clusterChanges.create(projectId, cluster),
    }),
  }),
  joinCluster: t.field({
    description:
      'Brings a broker into a cluster. Its own access control gives way to that of the cluster. In projects with `clusterPasswords` it requires `ADMIN`, because the broker receives the stored passwords.',
    type: ClusterPayload,
    ...onCluster('EDITOR'),
    args: { input: t.arg({ description: 'Which broker, and where.', type: JoinClusterInput, required: true }) },
    resolve: async (_root, { input: { clusterId, projectId: _, ...node } }, { services, viewer }) => {
      const by = { mayControl: mayControl(viewer, services.clusters.visible(clusterId, viewer, 'EDITOR')) };
      return { cluster: await services.clusterChanges.join(clusterId, node, by) };
    },
  }),
  leaveCluster: t.field({
    description: 'Takes a node out of a cluster. It keeps what it has.',
    type: ClusterPayload,
    ...onCluster('EDITOR'),
    args: { input: t.arg({ description: 'Which node of which cluster.', type: LeaveClusterInput, required: true }) },
    resolve: async (_root, { input: { clusterId, projectId: _, ...which } }, { services }) => ({
      cluster: await services.clusterChanges.leave(clusterId, which),
    }),
  }),
  updateCluster: t.field({
    description: 'Changes what this service keeps of a cluster.',
    type: ClusterPayload,
    ...onCluster('EDITOR'),
    args: {
      input: t.arg({ description: 'Which cluster, and what changes.', type: UpdateClusterInput, required: true }),
    },
    resolve: async (_root, { input: { clusterId, projectId: _, ...change } }, { services }) => ({
      cluster: await services.clusterChanges.update(clusterId, change),
    }),
  }),
  repairClusterNode: t.field({
    description:
      'Where this service keeps a cluster: makes a node that somebody else changed equal to the others again, or the others equal to it.',
    type: ClusterPayload,
    ...onCluster('EDITOR', { requiresForControl: 'ADMIN' }),
    args: { input: t.arg({ description: 'Which node, and how.', type: RepairClusterNodeInput, required: true }) },
    resolve: async (_root, { input: { clusterId, nodeId, adopt } }, { services, viewer }) => {
      const options = {
        adopt: adopt ?? false,
        mayControl: mayControl(viewer, services.clusters.visible(clusterId, viewer, 'EDITOR')),
      };
      return { cluster: await services.clusterChanges.repair(clusterId, nodeId, options) };
    },
  }),
  deleteClusters: t.field({
    description: 'Dissolves all clusters of a project. One that fails does not stop the others.',
    type: DeleteClustersPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ description: 'Of which project.', type: DeleteClustersInput, required: true }) },
    resolve: async (_root, { input: { projectId, purge } }, { services }) => ({
      results: await services.clusterChanges.removeAll(projectId, { purge: purge ?? false }),
    }),
  }),
  deleteCluster: t.field({
    description:
      'Dissolves a cluster: its nodes are brokers of their own again. BROKER_UNREACHABLE, and nothing is done, while one cannot be told, unless `purge`.',
    type: DeleteClusterPayload,
    ...onCluster('ADMIN'),
    args: { input: t.arg({ description: 'Which cluster.', type: DeleteClusterInput, required: true }) },
    resolve: (_root, { input: { clusterId, name, purge } }, { services }) =>
      services.clusterChanges.remove(clusterId, { name: name ?? null, purge: purge ?? false }),
  }),
}));

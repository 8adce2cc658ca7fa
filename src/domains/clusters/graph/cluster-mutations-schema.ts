import { swapClusterId } from '../../../gateway/cluster-id.ts';
import type { RequestContext } from '../../../gateway/context.ts';
import { builder, type InputFields, inProject, type Requirement, requires } from '../../../gateway/graphql/builder.ts';
import { inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { ofProject, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import type { ProjectRole } from '../../../platform/auth/viewer.ts';
import { mayControl, requireWholeProject } from '../../../platform/auth/viewer.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ClusterMode } from '../../brokers/broker-types-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import type { ClusterResult, DeletedCluster } from '../cluster-service.ts';
import type { ClusterRecord } from '../model/cluster.ts';
import { NodeOutcomeType } from './cluster-node-schema.ts';
import { Cluster, ClusterResultType } from './cluster-schema.ts';

interface Target {
  readonly input: { readonly clusterId: string; readonly projectId?: string | null | undefined };
}

/** Requires the role in the project, and a token that is not restricted to brokers, because others are affected. */
const onCluster = (role: ProjectRole, more: Pick<Requirement, 'requiresForControl'> = {}) => ({
  authScopes: (_parent: unknown, { input }: Target, { viewer, services }: RequestContext) => {
    services.clusters.visible(swapClusterId(input.clusterId), viewer, role, input.projectId);
    if (viewer !== null) requireWholeProject(viewer);
    return true;
  },
  ...requires(role, { ...more, elsewhere: 'NOT_FOUND' }),
});

const target = (t: InputFields) => ({
  clusterId: t.id({ description: 'Id of the cluster.', required: true }),
  projectId: t.id({ description: 'If given, the cluster must be in this project.' }),
});

const AS_ENTRY =
  'If given, it must equal the value in the broker entry, through which the service connects to the node.';
const BROKER_ID =
  'A broker of the project that is in no cluster. If only the leader accepts ordinary clients, the entry must name a listener that also works on followers.';
const NODE_ID = 'Number of the node from 1, unique in the cluster.';
const NAME = 'Name of the node.';
const ADDRESS = 'Address at which the other nodes connect to the node.';
const PORT = 'Port at which the other nodes connect to the node.';

const connectionFields = (t: InputFields) => {
  const asEntry = () => t.string({ description: AS_ENTRY });
  return {
    ...{ username: asEntry(), password: asEntry(), caCert: asEntry(), caCertFile: asEntry() },
    ...{ clientCert: asEntry(), clientCertFile: asEntry(), clientKey: asEntry(), clientKeyFile: asEntry() },
  };
};

const ClusterNodeInput = builder.inputType('ClusterNodeInput', {
  description: 'A broker that becomes a node.',
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
  description: 'A new cluster of existing brokers.',
  fields: (t) => ({
    projectId: t.id({ description: 'Project of the new cluster.', required: true }),
    name: t.string({ description: 'Name of the cluster.', required: true }),
    mode: t.field({ description: 'What the nodes share.', type: ClusterMode, required: true }),
    nodes: t.field({
      description: 'The nodes. The node with the lowest number determines the access control of the cluster.',
      type: [ClusterNodeInput],
      required: true,
    }),
  }),
});

const JoinClusterInput = builder.inputType('JoinClusterInput', {
  description: 'The broker that becomes a node.',
  fields: (t) => ({
    ...target(t),
    brokerId: t.id({ description: `${BROKER_ID} Required if \`url\` is missing.` }),
    url: t.string({ description: `${AS_ENTRY} Without \`brokerId\` it identifies the broker.` }),
    nodeId: t.int({ description: `${NODE_ID} Default: the next number.` }),
    name: t.string({ description: `${NAME} Default: the name of the broker.` }),
    address: t.string({ description: `${ADDRESS} Default: the host of the broker's address.` }),
    port: t.int({ description: `${PORT} Default: the port of the node with the lowest number.` }),
    ...connectionFields(t),
  }),
});

const LeaveClusterInput = builder.inputType('LeaveClusterInput', {
  description: 'The node that leaves the cluster. It must match all given fields.',
  fields: (t) => ({
    ...target(t),
    nodeId: t.int({ description: 'Number of the node.' }),
    brokerId: t.id({ description: 'Broker of the node.' }),
    url: t.string({ description: 'Address in the broker entry of the node.' }),
  }),
});

const UpdateClusterInput = builder.inputType('UpdateClusterInput', {
  description: 'Changes of a cluster. Missing fields stay unchanged.',
  fields: (t) => ({
    ...target(t),
    name: t.string({ description: 'New name of the cluster.' }),
    autoRepair: t.boolean({
      description: 'Only in clusters that this service synchronizes: whether to repair drifted nodes automatically.',
    }),
  }),
});

const RepairClusterNodeInput = builder.inputType('RepairClusterNodeInput', {
  description: 'A node that another client changed, and how to resolve it.',
  fields: (t) => ({
    ...target(t),
    nodeId: t.int({ description: 'Number of the node.', required: true }),
    adopt: t.boolean({
      description:
        'Whether to adopt the access control of the node for the cluster. Otherwise the node gets that of the cluster.',
      defaultValue: false,
    }),
  }),
});

const DeleteClusterInput = builder.inputType('DeleteClusterInput', {
  description: 'The cluster to delete.',
  fields: (t) => ({
    ...target(t),
    name: t.string({
      description:
        'If given, it must equal the name of the cluster. Protects against deleting another cluster by mistake.',
    }),
    purge: t.boolean({
      description:
        'Whether to delete the cluster even if a broker is not reachable. Otherwise nothing is changed in this case.',
      defaultValue: false,
    }),
  }),
});

const ClusterEntryConnection = builder.objectRef<BrokerRecord>('ClusterEntryConnection').implement({
  description: 'Connection of the broker entry that represents a cluster.',
  fields: (t) => ({
    brokerId: t.exposeID('id', { description: 'Id of the entry.' }),
    url: t.exposeString('url', {
      description: 'Address of the contact node, which receives requests for the cluster.',
      nullable: true,
    }),
    username: t.exposeString('username', { description: "User name of this service's connection.", nullable: true }),
    caCert: t.exposeString('caCert', { description: 'PEM.', nullable: true }),
    caCertFile: t.exposeString('caCertFile', {
      description: 'File in the folder BROKER_FILES_DIR of the service.',
      nullable: true,
    }),
    clientCert: t.exposeString('clientCert', { description: 'PEM.', nullable: true }),
    clientCertFile: t.exposeString('clientCertFile', {
      description: 'File in the folder BROKER_FILES_DIR of the service.',
      nullable: true,
    }),
    clientKeyFile: t.exposeString('clientKeyFile', {
      description: 'File in the folder BROKER_FILES_DIR of the service.',
      nullable: true,
    }),
    verifyCaCert: t.exposeBoolean('verifyCaCert', {
      description: 'Whether the service verifies the TLS certificates of the nodes.',
    }),
  }),
});

interface Changed {
  readonly cluster: ClusterRecord;
}

/** The audit finds the id of a new cluster in the field. */
const payloadOf = async (cluster: Promise<ClusterRecord>): Promise<Changed> => ({ cluster: await cluster });

const entryOf = ({ cluster }: Changed, _args: unknown, { services, viewer }: RequestContext) =>
  services.brokers.visible(cluster.id, viewer);

const clusterPayload = payloadsWith<Changed>({
  description: 'Result of a change of a cluster.',
  fields: (t) => ({
    cluster: t.expose('cluster', { description: 'The cluster after the change.', type: Cluster }),
    connection: t.field({
      description: 'Connection of the broker entry that represents the cluster.',
      type: ClusterEntryConnection,
      resolve: entryOf,
    }),
    broker: t.field({
      description: 'The broker entry that represents the cluster.',
      type: Broker,
      resolve: entryOf,
    }),
  }),
});

const DeleteClustersInput = builder.inputType('DeleteClustersInput', {
  description: 'The project whose clusters are deleted.',
  fields: (t) => ({
    projectId: t.id({ description: 'Id of the project.', required: true }),
    purge: t.boolean({
      description:
        'Whether to delete clusters even if a broker is not reachable. Otherwise such clusters are not changed.',
      defaultValue: false,
    }),
  }),
});

const DeleteClustersPayload = builder.objectRef<{ readonly results: ClusterResult[] }>('DeleteClustersPayload');
DeleteClustersPayload.implement({
  description: 'Result of deleting the clusters of a project.',
  fields: (t) => ({
    results: t.expose('results', {
      description: 'One result for each cluster, in order of creation.',
      type: [ClusterResultType],
    }),
  }),
});

const DeleteClusterPayload = builder.objectRef<DeletedCluster>('DeleteClusterPayload').implement({
  description: 'Result of deleting a cluster.',
  fields: (t) => ({
    deletedClusterId: t.id({
      description: 'Id of the deleted cluster.',
      resolve: ({ cluster }) => swapClusterId(cluster.id),
    }),
    hasSucceeded: t.boolean({
      description: 'Whether all nodes were changed. Can be false only with `purge`.',
      resolve: ({ outcomes }) => outcomes.every(({ error }) => error === null),
    }),
    nodes: t.field({
      description: 'Result on each node, sorted by `nodeId`.',
      type: [NodeOutcomeType],
      resolve: ({ outcomes }) => [...outcomes],
    }),
  }),
});

builder.mutationFields((t) => ({
  createCluster: t.field({
    description:
      'Creates a cluster of brokers, and a broker entry that represents it. If a node refuses, the change is rolled back on all nodes.',
    type: clusterPayload('createCluster'),
    ...inProject('ADMIN'),
    args: inputArgument(CreateClusterInput, 'The new cluster.'),
    resolve: (_root, { input: { projectId, ...cluster } }, { services }) =>
      payloadOf(services.clusterChanges.create(projectId, cluster)),
  }),
  joinCluster: t.field({
    description:
      'Adds a broker to a cluster. The access control of the cluster replaces that of the broker. In projects with `storesClusterPasswords` it requires `ADMIN`, because the broker receives the stored passwords.',
    type: clusterPayload('joinCluster'),
    ...onCluster('EDITOR'),
    args: inputArgument(JoinClusterInput, 'The broker and the cluster.'),
    resolve: (_root, { input: { clusterId, projectId: _, ...node } }, { services, viewer }) => {
      const id = swapClusterId(clusterId);
      const by = { mayControl: mayControl(viewer, services.clusters.visible(id, viewer, 'EDITOR')) };
      return payloadOf(services.clusterChanges.join(id, node, by));
    },
  }),
  leaveCluster: t.field({
    description: 'Removes a node from a cluster. The broker keeps its access control.',
    type: clusterPayload('leaveCluster'),
    ...onCluster('EDITOR'),
    args: inputArgument(LeaveClusterInput, 'The node and the cluster.'),
    resolve: (_root, { input: { clusterId, projectId: _, ...which } }, { services }) =>
      payloadOf(services.clusterChanges.leave(swapClusterId(clusterId), which)),
  }),
  updateCluster: t.field({
    description: 'Changes the name of a cluster, or whether nodes are repaired automatically.',
    type: clusterPayload('updateCluster'),
    ...onCluster('EDITOR'),
    args: inputArgument(UpdateClusterInput, 'The cluster and the changes.'),
    resolve: (_root, { input: { clusterId, projectId: _, ...change } }, { services }) =>
      payloadOf(services.clusterChanges.update(swapClusterId(clusterId), change)),
  }),
  repairClusterNode: t.field({
    description:
      'Makes a drifted node equal to the other nodes, or the other nodes equal to it. Only for clusters that this service synchronizes.',
    type: clusterPayload('repairClusterNode'),
    ...onCluster('EDITOR', { requiresForControl: 'ADMIN' }),
    args: inputArgument(RepairClusterNodeInput, 'The node and how to repair it.'),
    resolve: (_root, { input: { clusterId, nodeId, adopt } }, { services, viewer }) => {
      const id = swapClusterId(clusterId);
      const isAllowed = mayControl(viewer, services.clusters.visible(id, viewer, 'EDITOR'));
      const options = { adopt: adopt ?? false, mayControl: isAllowed };
      return payloadOf(services.clusterChanges.repair(id, nodeId, options));
    },
  }),
  deleteClusters: t.field({
    description: 'Deletes all clusters of a project. Each deletion succeeds or fails separately.',
    type: DeleteClustersPayload,
    ...inProject('ADMIN'),
    args: inputArgument(DeleteClustersInput, 'The project.'),
    resolve: async (_root, { input: { projectId, purge } }, { services }) => ({
      results: await services.clusterChanges.removeAll(projectId, { purge: purge ?? false }),
    }),
  }),
  deleteCluster: t.field({
    description:
      'Deletes a cluster. Its nodes become separate brokers. If a node is not reachable, the error is BROKER_UNREACHABLE and nothing is changed, unless `purge` is true.',
    type: DeleteClusterPayload,
    ...onCluster('ADMIN'),
    args: inputArgument(DeleteClusterInput, 'The cluster to delete.'),
    resolve: (_root, { input: { clusterId, name, purge } }, { services }) =>
      services.clusterChanges.remove(swapClusterId(clusterId), { name: name ?? null, purge: purge ?? false }),
  }),
}));

builder.prismaObjectFields(Project, (t) => ({
  viewerCanCreateClusters: t.boolean(viewerCan('Mutation.createCluster', 'create clusters', ofProject)),
}));

const ofCluster = ({ id }: { readonly id: string }) => ({ input: { clusterId: swapClusterId(id) } });

builder.prismaObjectFields(Cluster, (t) => ({
  viewerCanUpdate: t.boolean(
    viewerCan('Mutation.updateCluster', 'change and repair the cluster, and add and remove nodes', ofCluster),
  ),
  viewerCanDelete: t.boolean(viewerCan('Mutation.deleteCluster', 'delete the cluster', ofCluster)),
}));

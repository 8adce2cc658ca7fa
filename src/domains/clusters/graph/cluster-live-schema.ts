import { swapClusterId } from '../../../gateway/cluster-id.ts';
import { builder, inProject } from '../../../gateway/graphql/builder.ts';
import { guardedProject } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { ClusterChange, ClusterEvent } from '../cluster-live.ts';
import { ClusterNode, nodeViews } from './cluster-node-schema.ts';
import { Cluster, ClusterState } from './cluster-schema.ts';

const ClusterStatusType = builder.objectRef<ClusterChange>('ClusterStatus').implement({
  description: 'Current state of a cluster.',
  fields: (t) => ({
    clusterId: t.id({ description: 'Id of the cluster.', resolve: ({ clusterId }) => swapClusterId(clusterId) }),
    cluster: t.field({
      description: 'The cluster. Null once it is deleted.',
      type: Cluster,
      nullable: true,
      resolve: ({ now }) => now?.cluster ?? null,
    }),
    state: t.field({
      description: 'State of the cluster. Null once it is deleted.',
      type: ClusterState,
      nullable: true,
      resolve: ({ now }) => now?.status.state ?? null,
    }),
    nodes: t.field({
      description: 'Nodes of the cluster, sorted by `nodeId`.',
      type: [ClusterNode],
      resolve: ({ now }) => (now === null ? [] : nodeViews(now.cluster.nodes, now.status)),
    }),
  }),
});

const ClusterStatusEvent = builder.objectRef<ClusterEvent>('ClusterStatusEvent').implement({
  description:
    'An event of `clusterStatus`: first a snapshot of all clusters of the project, then one event for each change.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    clusters: t.field({
      description: 'SNAPSHOT: all clusters. CHANGE: the changed cluster.',
      type: [ClusterStatusType],
      resolve: (event) => [stateIn(event) ?? []].flat(),
    }),
  }),
});

builder.subscriptionFields((t) => ({
  clusterStatus: t.field({
    description: resumable(
      'Follows the status of the clusters of a project that the caller may see: connections of nodes, lag and drift.',
    ),
    type: ClusterStatusEvent,
    ...inProject('VIEWER'),
    args: {
      projectId: t.arg.id({ description: 'A project that the caller may see.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { projectId, after }, context) => {
      const { services, viewer } = context;
      return guardedProject(context, projectId, services.clusters, (signal) =>
        services.clusterLive.watch(projectId, viewer?.brokers ?? null, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
}));

import { builder, inProject } from '../../../gateway/graphql/builder.ts';
import { followsOnlySeen, guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import type { ClusterChange, ClusterEvent } from '../cluster-live.ts';
import { Cluster, ClusterNode, ClusterState, nodeViews } from './cluster-schema.ts';

const ClusterStatusType = builder.objectRef<ClusterChange>('ClusterStatus').implement({
  description: 'A cluster as it is now.',
  fields: (t) => ({
    clusterId: t.exposeID('clusterId', { description: 'Of the cluster.' }),
    cluster: t.field({
      description: 'Null once it is deleted.',
      type: Cluster,
      nullable: true,
      resolve: ({ now }) => now?.cluster ?? null,
    }),
    state: t.field({
      description: 'Null once it is deleted.',
      type: ClusterState,
      nullable: true,
      resolve: ({ now }) => now?.status.state ?? null,
    }),
    nodes: t.field({
      description: 'By number.',
      type: [ClusterNode],
      resolve: ({ now }) => (now === null ? [] : nodeViews(now.cluster, now.status)),
    }),
  }),
});

const ClusterStatusEvent = builder.objectRef<ClusterEvent>('ClusterStatusEvent').implement({
  description: 'First all clusters of the project, then one event for each change.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    clusters: t.field({
      description: 'SNAPSHOT: all of them. CHANGE: the one that changed.',
      type: [ClusterStatusType],
      resolve: (event) => {
        if (event.kind === 'SNAPSHOT') return [...event.snapshot];
        return event.kind === 'CHANGE' ? [event.change] : [];
      },
    }),
  }),
});

builder.subscriptionFields((t) => ({
  clusterStatus: t.field({
    description:
      'How the clusters of a project are, of those that the caller sees: nodes that come and go, lag and drift.',
    type: ClusterStatusEvent,
    ...inProject('VIEWER'),
    args: {
      projectId: t.arg.id({ description: 'A project that the caller sees.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { projectId, after }, context) => {
      const { services, viewer } = context;
      return guarded(context, followsOnlySeen(context, projectId, services.clusters), (signal) =>
        services.clusterLive.watch(projectId, viewer?.brokers ?? null, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
}));

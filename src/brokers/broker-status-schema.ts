import { builder, inProject } from '../graphql/builder.ts';
import { guarded } from '../graphql/guarded.ts';
import { LiveEventKind } from '../graphql/live-event.ts';
import type { BroadcastEvent } from '../live/broadcast.ts';
import type { BrokerStatusChange } from './broker-runtimes.ts';
import { Broker, BrokerConnectionStatus } from './broker-schema.ts';

const BrokerStatus = builder.objectRef<BrokerStatusChange>('BrokerStatus').implement({
  description: 'A broker as it is now.',
  fields: (t) => ({
    brokerId: t.exposeID('brokerId'),
    broker: t.field({
      description: 'Null once it is removed.',
      type: Broker,
      nullable: true,
      resolve: ({ broker }) => broker,
    }),
    isConnected: t.boolean({ resolve: ({ connection }) => connection.state === 'CONNECTED' }),
    connection: t.field({ type: BrokerConnectionStatus, resolve: ({ connection }) => connection }),
    isRemoved: t.boolean({ resolve: ({ broker }) => broker === null }),
  }),
});

const BrokerStatusEvent = builder
  .objectRef<BroadcastEvent<readonly BrokerStatusChange[], BrokerStatusChange>>('BrokerStatusEvent')
  .implement({
    description: 'First the state of all brokers of the project, then one event for each change.',
    fields: (t) => ({
      kind: t.expose('kind', { type: LiveEventKind }),
      sequence: t.exposeInt('sequence', { description: 'Grows by one with each change in the project.' }),
      brokers: t.field({
        description: 'SNAPSHOT: all of them. CHANGE: the one that changed.',
        type: [BrokerStatus],
        resolve: (event, _args, { viewer }) => {
          const only = viewer?.brokers;
          const all = event.kind === 'SNAPSHOT' ? event.snapshot : event.kind === 'CHANGE' ? [event.change] : [];
          return only ? all.filter(({ brokerId }) => only.has(brokerId)) : [...all];
        },
      }),
      missed: t.int({
        description: 'GAP: how many changes were left out.',
        nullable: true,
        resolve: (event) => (event.kind === 'GAP' ? event.missed : null),
      }),
    }),
  });

builder.subscriptionFields((t) => ({
  brokerStatus: t.field({
    description: 'Connections of the project’s brokers, additions, changes of settings, and removals.',
    type: BrokerStatusEvent,
    ...inProject('VIEWER'),
    args: { projectId: t.arg.id({ required: true }) },
    subscribe: (_root, { projectId }, context) => {
      const { services } = context;
      return guarded(
        context,
        (viewer) => services.projects.visible(projectId, viewer),
        (signal) => services.runtimes.watchStatus(projectId, signal),
      );
    },
    resolve: (event) => event,
  }),
}));

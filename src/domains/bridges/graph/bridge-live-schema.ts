import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { readConnections } from '../bridge-view.ts';
import type { BridgeEvent } from '../live/bridge-feed.ts';
import { BridgeConnectionType } from './bridge-schema.ts';

const BridgeStatusEvent = builder.objectRef<BridgeEvent>('BridgeStatusEvent').implement({
  description: 'First the status as it is, then one event for each change of it.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    status: t.field({
      description: 'SNAPSHOT, CHANGE: as the bridge’s provider tells it.',
      type: 'JSON',
      nullable: true,
      resolve: (event) => stateIn(event)?.status ?? null,
    }),
    connections: t.field({
      description: 'SNAPSHOT, CHANGE: of the status, what has a name.',
      type: [BridgeConnectionType],
      resolve: (event) => readConnections(stateIn(event)?.status),
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: whether this service is connected to the broker; while not, what was told last stays.',
      nullable: true,
      resolve: (event) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  bridgeStatus: t.field({
    description:
      'How the connections of a bridge are, live: each change of a state at once where this service runs it, else within a second or as soon as the broker tells.',
    type: BridgeStatusEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The broker of the bridge.', required: true }),
      bridgeId: t.arg.id({ description: 'Of a bridge of this broker; else NOT_FOUND.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, bridgeId, after }, context) => {
      const { services, viewer } = context;
      const broker = services.brokers.visible(brokerId, viewer);
      return guarded(
        context,
        (current) => services.brokers.visible(brokerId, current),
        (signal) => services.bridges.watch(broker, bridgeId, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
}));

import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { BridgeEvent } from '../bridge-service.ts';
import { readConnections } from '../bridge-view.ts';
import { BridgeConnectionType } from './bridge-schema.ts';

const BridgeStatusEvent = builder.objectRef<BridgeEvent>('BridgeStatusEvent').implement({
  description: 'First the current status, then one event for each change.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    status: t.field({
      description: 'SNAPSHOT, CHANGE: as the provider of the bridge reports it.',
      type: 'JSON',
      nullable: true,
      resolve: (event) => stateIn(event)?.status ?? null,
    }),
    connections: t.field({
      description: 'SNAPSHOT, CHANGE: the connections in the status that have a name.',
      type: [BridgeConnectionType],
      resolve: (event) => readConnections(stateIn(event)?.status),
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: whether this service is connected to the broker. While it is not, `status` is the last known one.',
      nullable: true,
      resolve: (event) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  bridgeStatus: t.field({
    description:
      'The live status of a bridge. Changes of a state arrive immediately if this service runs the bridge, otherwise within a second or as soon as the broker reports them.',
    type: BridgeStatusEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The id of the broker.', required: true }),
      bridgeId: t.arg.id({ description: 'The id of a bridge of this broker; otherwise NOT_FOUND.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, bridgeId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) =>
        context.services.bridges.watch(broker, bridgeId, { signal, after }),
      ),
    resolve: (event) => event,
  }),
}));

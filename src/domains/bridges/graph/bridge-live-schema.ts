import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { parseNamedNodeId } from '../../../gateway/named-node-id.ts';
import type { BridgeEvent } from '../bridge-service.ts';
import { readConnections } from '../bridge-view.ts';
import { Bridge, BridgeConnectionType, bridgeIdOf } from './bridge-schema.ts';

interface BridgeEventView {
  readonly event: BridgeEvent;
  readonly brokerId: string;
  readonly key: string;
}

const BridgeStatusEvent = builder.objectRef<BridgeEventView>('BridgeStatusEvent').implement({
  description: 'First the current status, then one event for each change.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    bridgeId: t.id({
      description: 'The global id of the bridge.',
      resolve: ({ brokerId, key }) => bridgeIdOf({ id: brokerId }, key),
    }),
    bridge: t.field({
      description: 'The bridge after the event; null if the broker no longer has it.',
      type: Bridge,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: ({ brokerId, key }, _args, { services, viewer }) => {
        const broker = services.brokers.seen(brokerId, viewer);
        return broker && services.bridges.find(broker, key);
      },
    }),
    status: t.field({
      description: 'SNAPSHOT, CHANGE: as the provider of the bridge reports it.',
      type: 'JSON',
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.status ?? null,
    }),
    connections: t.field({
      description: 'SNAPSHOT, CHANGE: the connections in the status that have a name.',
      type: [BridgeConnectionType],
      resolve: ({ event }) => readConnections(stateIn(event)?.status),
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: whether this service is connected to the broker. While it is not, `status` is the last known one.',
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

/** The key of a bridge that is given by its key or its global id. */
function keyOf(brokerId: string, bridgeId: string): string {
  const named = parseNamedNodeId(bridgeId);
  return named?.kind === 'bridge' && named.brokerId === brokerId ? named.name : bridgeId;
}

builder.subscriptionFields((t) => ({
  bridgeStatus: t.field({
    description: resumable(
      'The live status of a bridge. Changes of a state arrive immediately if this service runs the bridge, otherwise within a second or as soon as the broker reports them.',
    ),
    type: BridgeStatusEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The id of the broker.', required: true }),
      bridgeId: t.arg.id({
        description: 'The id or the key of a bridge of this broker; otherwise NOT_FOUND.',
        required: true,
      }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, bridgeId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) =>
        context.services.bridges.watch(broker, keyOf(brokerId, bridgeId), { signal, after }),
      ),
    resolve: (event, { brokerId, bridgeId }) => ({ event, brokerId, key: keyOf(brokerId, bridgeId) }),
  }),
}));

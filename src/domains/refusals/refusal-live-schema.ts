import { builder, onBroker } from '../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumeArgument } from '../../gateway/graphql/live-event.ts';
import { withBroker } from '../../gateway/graphql/type-scopes.ts';
import { stateIn } from '../../gateway/live/broadcast.ts';
import { REFUSALS, RefusalType } from './refusal-schema.ts';
import type { RefusalsEvent } from './refusal-service.ts';
import { type RefusalView, refusalNodeId, viewOf } from './refusal-view.ts';

interface EventOfBroker {
  readonly event: RefusalsEvent;
  readonly broker: RefusalView['broker'];
}

/** Assumed entries of an event, for the cost of a subscription. */
const USUAL_EVENT = 20;

const RefusalsEventType = builder.objectRef<EventOfBroker>('RefusalsEvent').implement({
  ...withBroker,
  description:
    'The first event has all refusals, each further event the changed ones. At most four changes are sent a second.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    ...partsLeftField(t, ({ event }) => event),
    refusals: t.field({
      description:
        'Newest first. SNAPSHOT: all refusals, or the first part of them (see `partsLeft`). CHANGE: new refusals, and those with another `count`.',
      type: [RefusalType],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: ({ event, broker }) => stateIn(event)?.refusals.map((refusal) => viewOf(broker, refusal)) ?? [],
    }),
    removed: t.idList({
      description: 'CHANGE: ids of refusals that were dropped.',
      resolve: ({ event, broker }) => stateIn(event)?.removed.map((id) => refusalNodeId(broker.id, id)) ?? [],
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: whether this service is connected to the broker. While it is not, the refusals are the last known ones.',
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  refusals: t.field({
    description: `Connections, publishes and subscriptions that a broker refuses, live. ${REFUSALS}`,
    type: RefusalsEventType,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The id of the broker.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) => context.services.refusals.watch(broker, { signal, after })),
    resolve: (event, { brokerId }, { services, viewer }) => ({
      event,
      broker: services.brokers.visible(brokerId, viewer),
    }),
  }),
}));

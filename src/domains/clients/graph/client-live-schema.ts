import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { keyOf, refOf } from '../../../protocol/apis/clients/client-key.ts';
import type { ClientsEvent } from '../client-service.ts';
import { MAX_SELECTIONS } from '../inspect/client-feeds.ts';
import { ConnectedClientFilter } from './client-filter-schema.ts';
import { ConnectedClient, clientNodeId } from './client-schema.ts';

/** Assumed clients per event, for the cost of a subscription. Requests to the broker are limited separately. */
const USUAL_EVENT = 200;

const changeOf = ({ event }: ClientsEvent) => (event.kind === 'CHANGE' ? event.change : null);
const countsOf = ({ event }: ClientsEvent) => stateIn(event)?.counts ?? null;

const ConnectedClientsEvent = builder.objectRef<ClientsEvent>('ConnectedClientsEvent').implement({
  description:
    'The first event has all clients that match the arguments, each further event one change. "No longer exist" includes clients that no longer match.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    ...partsLeftField(t, ({ event }) => event),
    totalCount: t.int({
      description: 'Number of matching clients after the event. Null if the event is neither SNAPSHOT nor CHANGE.',
      nullable: true,
      resolve: (parent) => countsOf(parent)?.total ?? null,
    }),
    connectedCount: t.int({
      description: 'Number of those in `totalCount` that are connected.',
      nullable: true,
      resolve: (parent) => countsOf(parent)?.connected ?? null,
    }),
    clients: t.field({
      description:
        'SNAPSHOT: all clients, or the first part of them (see `partsLeft`). CHANGE: new and changed clients, including persistent sessions that went offline. Empty with `form: COUNTS`.',
      type: [ConnectedClient],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: ({ views, event }) =>
        views(event.kind === 'SNAPSHOT' ? event.snapshot.clients : event.kind === 'CHANGE' ? event.change.changed : []),
    }),
    changedIds: t.idList({
      description: 'CHANGE: the `id` of each new and changed client, also with `form: COUNTS`. At most 1,000.',
      resolve: (parent) => changeOf(parent)?.changed.map((client) => clientNodeId(parent.broker, keyOf(client))) ?? [],
    }),
    removed: t.field({
      description:
        'CHANGE: client ids of clients that no longer exist. In a cluster another node may have a client of the same id: see `removedFrom`.',
      type: ['ID'],
      resolve: (parent) => changeOf(parent)?.removed.map((key) => refOf(key).clientid) ?? [],
    }),
    removedIds: t.idList({
      description: 'CHANGE: the `id` of each of `removed`.',
      resolve: (parent) => changeOf(parent)?.removed.map((key) => clientNodeId(parent.broker, key)) ?? [],
    }),
    removedFrom: t.intList({
      description:
        'In a cluster whose nodes have clients of their own: the node of each of `removed`. Otherwise empty.',
      resolve: (parent) => changeOf(parent)?.removed.flatMap((key) => refOf(key).node ?? []) ?? [],
    }),
    isComplete: t.boolean({
      nullable: true,
      description:
        'false if clients that connected earlier may be missing, or if clients may match the filter although a value that it needs is unknown. Null if the event is neither SNAPSHOT nor CHANGE. A CHANGE without clients reports a change of `isComplete`.',
      resolve: ({ event }) => stateIn(event)?.complete ?? null,
    }),
  }),
});

const ConnectedClientsForm = describedEnum('ConnectedClientsForm', 'What the events of `connectedClients` contain.', {
  CLIENTS: 'Counts, ids and clients.',
  COUNTS: 'Counts, and the ids of changed and removed clients. The snapshot has only the counts.',
});

builder.subscriptionFields((t) => ({
  connectedClients: t.field({
    description: resumable(
      `The clients of a broker, live. With a filter, only matching clients and their changes are sent: a client that starts to match is a new client, one that no longer matches is a removed client. At most ${MAX_SELECTIONS} different filters per broker; beyond them a subscription gets RATE_LIMITED. If very many clients change at once, such as after a restart of the broker, a GAP and a new SNAPSHOT may replace the changes.`,
    ),
    type: ConnectedClientsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ required: true, description: 'The broker.' }),
      filter: t.arg({ type: ConnectedClientFilter, description: 'Default: all clients.' }),
      form: t.arg({
        type: ConnectedClientsForm,
        required: true,
        defaultValue: 'CLIENTS',
        description: 'What the events contain.',
      }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, after, ...selection }, context) =>
      guardedBroker(context, brokerId, (broker, signal) =>
        context.services.clients.watch(broker, { signal, after }, selection),
      ),
    resolve: (event, { brokerId, form }, { services, viewer }) =>
      services.clients.eventOf(services.brokers.visible(brokerId, viewer), event, form),
  }),
}));

import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { pageCost, QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { ClientsEvent } from '../client-service.ts';
import { refOf } from '../inspect/client-key.ts';
import { ConnectedClient } from './client-schema.ts';

export const FilterMode = builder.enumType('FilterMode', {
  values: {
    CONTAINS: { value: 'contains' },
    EQUALS: { value: 'equals' },
    STARTS_WITH: { value: 'startsWith' },
    ENDS_WITH: { value: 'endsWith' },
  } as const,
});

export const ClientFilter = builder.inputType('ClientFilter', {
  description: 'Compared with the user name and the client id; either may match.',
  fields: (t) => ({
    value: t.string({ required: true }),
    mode: t.field({ type: FilterMode, defaultValue: 'contains' }),
  }),
});

builder.interfaceFields(Broker, (t) => ({
  connectedClients: t.connection(
    {
      description:
        'Clients in order of their ids: connected ones, and persistent sessions (connected: false). Of a cluster whose nodes have clients of their own: those of all nodes, an id once for each node that has it.',
      type: ConnectedClient,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ type: ClientFilter }),
        connected: t.arg.boolean({
          description: 'True: only those that are connected. False: only persistent sessions that are not.',
        }),
        username: t.arg.string({ description: 'Only those of this user name.' }),
        offset: t.arg.int({ description: 'Entries left out at the start.' }),
      },
      resolve: (broker, args, { services }) => services.clients.page(broker, args),
    },
    {
      name: 'ConnectedClientConnection',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Of the whole filtered list.' }),
        isComplete: connection.exposeBoolean('isComplete', {
          description: 'False: clients that connected before `since` may be missing.',
        }),
        since: connection.field({
          description: 'Since when clients are followed, where the broker cannot list them.',
          type: 'DateTime',
          nullable: true,
          resolve: ({ since }) => (since === null ? null : new Date(since)),
        }),
        asOf: connection.field({ type: 'DateTime', resolve: ({ asOf }) => new Date(asOf) }),
      }),
    },
    { name: 'ConnectedClientEdge' },
  ),
  connectedClient: t.field({
    type: ConnectedClient,
    nullable: true,
    description: 'Null when the broker has no such client.',
    complexity: QUESTION_COST,
    args: {
      clientId: t.arg.string({ required: true }),
      nodeId: t.arg.int({
        description:
          'In a cluster whose nodes have clients of their own: the one of this node. Left out: the one that is connected, and of several the one that came last.',
      }),
    },
    resolve: (broker, { clientId, nodeId }, { services }) => services.clients.find(broker, clientId, nodeId),
  }),
}));

/** Clients in an event, for the cost of a subscription; how many a broker is asked about is bounded as they are told. */
const USUAL_EVENT = 200;

const ConnectedClientsEvent = builder.objectRef<ClientsEvent>('ConnectedClientsEvent').implement({
  description: 'First the clients as they are, then one event for each change.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    ...partsLeftField(t, ({ event }) => event),
    clients: t.field({
      description:
        'SNAPSHOT: all clients, or the first of them (see `partsLeft`). CHANGE: those that came or became different, also persistent sessions that went offline.',
      type: [ConnectedClient],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: ({ views, event }) =>
        views(event.kind === 'SNAPSHOT' ? event.snapshot.clients : event.kind === 'CHANGE' ? event.change.changed : []),
    }),
    removed: t.field({
      description:
        'CHANGE: ids of clients that are gone. In a cluster another node may have a client of the same id: see `removedFrom`.',
      type: ['ID'],
      resolve: ({ event }) => (event.kind === 'CHANGE' ? event.change.removed.map((key) => refOf(key).clientid) : []),
    }),
    removedFrom: t.intList({
      description: 'In a cluster whose nodes have clients of their own: the node of each of `removed`; else empty.',
      resolve: ({ event }) =>
        event.kind === 'CHANGE' ? event.change.removed.flatMap((key) => refOf(key).node ?? []) : [],
    }),
    isComplete: t.boolean({
      nullable: true,
      description: 'SNAPSHOT: false when clients that connected earlier may be missing.',
      resolve: ({ event }) => (event.kind === 'SNAPSHOT' ? event.snapshot.complete : null),
    }),
  }),
});

builder.subscriptionFields((t) => ({
  connectedClients: t.field({
    description: 'Who is connected to a broker, live.',
    type: ConnectedClientsEvent,
    ...onBroker('VIEWER'),
    args: { brokerId: t.arg.id({ required: true }), after: t.arg.float(resumeArgument) },
    subscribe: (_root, { brokerId, after }, context) => {
      const { services, viewer } = context;
      const broker = services.brokers.visible(brokerId, viewer);
      return guarded(
        context,
        (current) => services.brokers.visible(brokerId, current),
        (signal) => services.clients.watch(broker, { signal, after }),
      );
    },
    resolve: (event, { brokerId }, { services, viewer }) =>
      services.clients.eventOf(services.brokers.visible(brokerId, viewer), event),
  }),
}));

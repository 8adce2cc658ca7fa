import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { pageOf } from '../../../gateway/paging.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { ClientsEvent } from '../client-service.ts';
import { refOf } from '../inspect/client-key.ts';
import { ConnectedClient, clientNodeId } from './client-schema.ts';

const FilterMode = builder.enumType('FilterMode', {
  description: 'How the value of a filter is compared with a text. Each mode is case-sensitive.',
  values: {
    CONTAINS: { value: 'contains', description: 'The text contains the value.' },
    EQUALS: { value: 'equals', description: 'The text equals the value.' },
    STARTS_WITH: { value: 'startsWith', description: 'The text starts with the value.' },
    ENDS_WITH: { value: 'endsWith', description: 'The text ends with the value.' },
  } as const,
});

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

export const filterFields = (t: InputFields) => ({
  value: t.string({ description: 'The value of the comparison. An empty value matches each entry.', required: true }),
  mode: t.field({
    description: 'The relation between a text and `value`.',
    type: FilterMode,
    defaultValue: 'contains' as const,
  }),
});

export const ClientFilter = builder.inputType('ClientFilter', {
  description: 'Compared with the user name and the client id; one of them must match.',
  fields: filterFields,
});

builder.interfaceFields(Broker, (t) => ({
  connectedClients: t.connection(
    {
      description:
        'Connected clients, and persistent sessions (connected: false), in the order of client ids. In a cluster whose nodes have clients of their own: the clients of all nodes; an id may occur once per node.',
      type: ConnectedClient,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ description: 'Returns only matching clients.', type: ClientFilter }),
        connected: t.arg.boolean({
          description: 'true: only connected clients. false: only persistent sessions that are offline.',
        }),
        username: t.arg.string({ description: 'Only clients of this user name.' }),
        offset: t.arg.int({ description: 'Number of clients to skip.' }),
      },
      resolve: (broker, args, { services }) => services.clients.page(broker, args),
    },
    {
      name: 'ConnectedClientConnection',
      description: `${pageOf('clients')} Only \`first\` and \`after\` are supported.`,
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Size of the whole filtered list.' }),
        isComplete: connection.exposeBoolean('isComplete', {
          description: 'false if clients that connected before `since` may be missing.',
        }),
        since: connection.field({
          description: 'The time since which clients are followed; null if the broker lists them itself.',
          type: 'DateTime',
          nullable: true,
          resolve: ({ since }) => (since === null ? null : new Date(since)),
        }),
        asOf: connection.field({
          description: 'The time at which the list was last confirmed.',
          type: 'DateTime',
          resolve: ({ asOf }) => new Date(asOf),
        }),
      }),
    },
    { name: 'ConnectedClientEdge', description: 'A client and its cursor.' },
  ),
  connectedClient: t.field({
    type: ConnectedClient,
    nullable: true,
    description: 'One client; null if the broker has no such client.',
    complexity: BROKER_QUERY_COST,
    args: {
      clientId: t.arg.string({ description: 'The exact MQTT client id.', required: true }),
      nodeId: t.arg.int({
        description:
          'Number of the node whose client is returned, in a cluster whose nodes have clients of their own. Default: the node where the client is connected, or connected last.',
      }),
    },
    resolve: (broker, { clientId, nodeId }, { services }) => services.clients.find(broker, clientId, nodeId),
  }),
}));

/** Assumed clients per event, for the cost of a subscription. Requests to the broker are limited separately. */
const USUAL_EVENT = 200;

const ConnectedClientsEvent = builder.objectRef<ClientsEvent>('ConnectedClientsEvent').implement({
  description: 'The first event has all clients, each further event one change.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    ...partsLeftField(t, ({ event }) => event),
    clients: t.field({
      description:
        'SNAPSHOT: all clients, or the first part of them (see `partsLeft`). CHANGE: new and changed clients, including persistent sessions that went offline.',
      type: [ConnectedClient],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: ({ views, event }) =>
        views(event.kind === 'SNAPSHOT' ? event.snapshot.clients : event.kind === 'CHANGE' ? event.change.changed : []),
    }),
    removed: t.field({
      description:
        'CHANGE: client ids of clients that no longer exist. In a cluster another node may have a client of the same id: see `removedFrom`.',
      type: ['ID'],
      resolve: ({ event }) => (event.kind === 'CHANGE' ? event.change.removed.map((key) => refOf(key).clientid) : []),
    }),
    removedIds: t.idList({
      description: 'CHANGE: the `id` of each of `removed`.',
      resolve: ({ broker, event }) =>
        event.kind === 'CHANGE' ? event.change.removed.map((key) => clientNodeId(broker, key)) : [],
    }),
    removedFrom: t.intList({
      description:
        'In a cluster whose nodes have clients of their own: the node of each of `removed`. Otherwise empty.',
      resolve: ({ event }) =>
        event.kind === 'CHANGE' ? event.change.removed.flatMap((key) => refOf(key).node ?? []) : [],
    }),
    isComplete: t.boolean({
      nullable: true,
      description: 'SNAPSHOT: false if clients that connected earlier may be missing.',
      resolve: ({ event }) => (event.kind === 'SNAPSHOT' ? event.snapshot.complete : null),
    }),
  }),
});

builder.subscriptionFields((t) => ({
  connectedClients: t.field({
    description: 'The clients of a broker, live.',
    type: ConnectedClientsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The id of a broker that the caller can see.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) => context.services.clients.watch(broker, { signal, after })),
    resolve: (event, { brokerId }, { services, viewer }) =>
      services.clients.eventOf(services.brokers.visible(brokerId, viewer), event),
  }),
}));

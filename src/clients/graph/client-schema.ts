import { Broker } from '../../brokers/broker-schema.ts';
import { builder, onBroker } from '../../graphql/builder.ts';
import { guarded } from '../../graphql/guarded.ts';
import { LiveEventKind, PARTS_LEFT, resumeArgument, SEQUENCE } from '../../graphql/live-event.ts';
import { pageCost, QUESTION_COST } from '../../graphql/page-cost.ts';
import type { ClientsEvent, ClientView } from '../client-service.ts';
import {
  type ClientListener,
  type ClientTls,
  type ClientWill,
  type ConnectedClientDetail,
  INFLIGHT_KEYS,
  QUEUE_KEYS,
} from '../inspect/inspect-control.ts';

const ClientProtocol = builder.enumType('ClientProtocol', {
  values: { MQTT: { value: 'MQTT' }, MQTT_SN: { value: 'MQTT-SN' }, MQTT_WS: { value: 'MQTT-WS' } } as const,
});
const ClientProtocolVersion = builder.enumType('ClientProtocolVersion', {
  values: { V3_1: { value: 'v3.1' }, V3_1_1: { value: 'v3.1.1' }, V5: { value: 'v5' } } as const,
});
const ClientSource = builder.enumType('ClientSource', {
  description: 'Where what is known about clients comes from.',
  values: {
    BROKER: { description: 'The broker’s own inspect API.' },
    LOG_FEED: { description: 'Followed through the broker’s log: only clients that came since `since` are known.' },
  } as const,
});

type Counts<Key extends string> = { readonly [Name in Key]?: number };

/** One nullable number for each key; Float, because bytes pass 2^31. */
function countsType<Key extends string>(name: string, description: string, keys: readonly Key[]) {
  return builder.objectRef<Counts<Key>>(name).implement({
    description: `${description} Null: the source does not know.`,
    fields: (t) =>
      Object.fromEntries(
        keys.map((key) => [key, t.float({ nullable: true, resolve: (counts: Counts<Key>) => counts[key] ?? null })]),
      ),
  });
}

const ClientQueuesType = countsType('ClientQueues', 'Messages waiting for or from a client.', QUEUE_KEYS);
const ClientInflightType = countsType('ClientInflight', 'Messages sent and not acknowledged yet.', INFLIGHT_KEYS);

const ClientTlsType = builder.objectRef<ClientTls>('ClientTls').implement({
  fields: (t) => ({
    clientCertificate: t.string({
      description: 'PEM.',
      nullable: true,
      resolve: (tls) => tls.clientCertificate ?? null,
    }),
    version: t.string({ nullable: true, resolve: ({ version }) => version ?? null }),
    ciphers: t.string({ nullable: true, resolve: ({ ciphers }) => ciphers ?? null }),
  }),
});

const ClientListenerType = builder.objectRef<ClientListener>('ClientListener').implement({
  description: 'The listener of the broker that a client came in by.',
  fields: (t) => ({
    port: t.exposeInt('port'),
    bindAddress: t.string({ nullable: true, resolve: ({ bind_address }) => bind_address ?? null }),
  }),
});

const ClientWillType = builder.objectRef<ClientWill>('ClientWill').implement({
  fields: (t) => ({
    topic: t.exposeString('topic'),
    qos: t.exposeInt('qos'),
    retain: t.exposeBoolean('retain'),
    payload: t.exposeString('payload', { description: 'Base64.' }),
    properties: t.field({
      description: 'MQTT 5: objects of identifier, name and value.',
      type: ['JSON'],
      nullable: true,
      resolve: ({ properties }) => (properties ? [...properties] : null),
    }),
    delayInterval: t.int({
      description: 'Seconds.',
      nullable: true,
      resolve: ({ delayInterval }) => delayInterval ?? null,
    }),
  }),
});

/** A field of the detail: of a single client it is at hand, of a client in a list the broker is asked (once per client). */
const detail = <T>(client: ClientView, read: (detail: ConnectedClientDetail) => T): T | Promise<T | null> =>
  client.isDetailed ? read(client.known) : client.readDetail().then((known) => known && read(known));

export const ConnectedClient = builder.objectRef<ClientView>('ConnectedClient').implement({
  description:
    'A client of a broker: connected now, or a persistent session. Null means that the source does not know. From `numSubscriptions` to `inflight` a list costs one question to the broker for each client.',
  fields: (t) => ({
    clientId: t.string({ resolve: ({ known }) => known.clientid }),
    username: t.string({ description: '<anonymous> when none was used.', resolve: ({ known }) => known.username }),
    address: t.string({ description: 'IP address.', nullable: true, resolve: ({ known }) => known.address ?? null }),
    remotePort: t.int({ nullable: true, resolve: ({ known }) => known.remotePort ?? null }),
    protocol: t.field({ type: ClientProtocol, nullable: true, resolve: ({ known }) => known.protocol ?? null }),
    protocolVersion: t.field({
      type: ClientProtocolVersion,
      nullable: true,
      resolve: ({ known }) => known.protocolVersion ?? null,
    }),
    connected: t.boolean({ nullable: true, resolve: ({ known }) => known.connected ?? null }),
    lastConnect: t.float({
      description: 'Epoch milliseconds.',
      nullable: true,
      resolve: ({ known }) => known.lastConnect ?? null,
    }),
    lastDisconnect: t.float({
      description: 'Epoch milliseconds; null as well when it never disconnected.',
      nullable: true,
      resolve: ({ known }) => known.lastDisconnect ?? null,
    }),
    queues: t.field({ type: ClientQueuesType, nullable: true, resolve: ({ known }) => known.queues ?? null }),
    isBridge: t.boolean({ description: 'A bridge of another broker.', resolve: ({ known }) => known.bridge ?? false }),
    isGateway: t.boolean({
      description: 'A connection of this service itself.',
      resolve: ({ known }) => known.gateway ?? false,
    }),
    disconnectReason: t.string({
      description: 'In the broker’s words.',
      nullable: true,
      resolve: ({ known }) => known.disconnectReason ?? null,
    }),
    numSubscriptions: t.float({
      description: 'Active subscriptions.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ numSubscriptions }) => numSubscriptions ?? null),
    }),
    numPublished: t.float({
      description: 'Messages received from the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ numPublished }) => numPublished ?? null),
    }),
    numSubscribed: t.float({
      description: 'Messages sent to the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ numSubscribed }) => numSubscribed ?? null),
    }),
    numDropped: t.float({
      description: 'Messages dropped because a queue was full.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ numDropped }) => numDropped ?? null),
    }),
    bytesPublished: t.float({
      description: 'Payload bytes received from the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ bytesPublished }) => bytesPublished ?? null),
    }),
    bytesSubscribed: t.float({
      description: 'Payload bytes sent to the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ bytesSubscribed }) => bytesSubscribed ?? null),
    }),
    keepalive: t.int({
      description: 'Seconds.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ keepalive }) => keepalive ?? null),
    }),
    cleanSession: t.boolean({
      description: 'The broker forgets the session when the client reconnects.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ cleanSession }) => cleanSession ?? null),
    }),
    tls: t.field({
      type: ClientTlsType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ tls }) => tls ?? null),
    }),
    listener: t.field({
      type: ClientListenerType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ listener }) => listener ?? null),
    }),
    will: t.field({
      type: ClientWillType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ will }) => will ?? null),
    }),
    subscriptions: t.stringList({
      description: 'Topic filters.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ subscriptions }) => (subscriptions ? [...subscriptions] : null)),
    }),
    inflight: t.field({
      type: ClientInflightType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client) => detail(client, ({ inflight }) => inflight ?? null),
    }),
    source: t.field({ type: ClientSource, resolve: ({ source }) => source }),
    asOf: t.field({ description: 'How old this is.', type: 'DateTime', resolve: ({ asOf }) => new Date(asOf) }),
    broker: t.field({ type: Broker, resolve: ({ broker }) => broker }),
  }),
});

export const FilterMode = builder.enumType('FilterMode', {
  values: {
    CONTAINS: { value: 'contains' },
    EQUALS: { value: 'equals' },
    STARTS_WITH: { value: 'startsWith' },
    ENDS_WITH: { value: 'endsWith' },
  } as const,
});

const ClientFilter = builder.inputType('ClientFilter', {
  description: 'Compared with the user name and the client id; either may match.',
  fields: (t) => ({
    value: t.string({ required: true }),
    mode: t.field({ type: FilterMode, defaultValue: 'contains' }),
  }),
});

builder.interfaceFields(Broker, (t) => ({
  connectedClients: t.connection(
    {
      description: 'Clients in order of their ids: connected ones, and persistent sessions (connected: false).',
      type: ConnectedClient,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ type: ClientFilter }),
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
    args: { clientId: t.arg.string({ required: true }) },
    resolve: (broker, { clientId }, { services }) => services.clients.find(broker, clientId),
  }),
}));

const ConnectedClientsEvent = builder.objectRef<ClientsEvent>('ConnectedClientsEvent').implement({
  description: 'First the clients as they are, then one event for each change.',
  fields: (t) => ({
    kind: t.field({ type: LiveEventKind, resolve: ({ event }) => event.kind }),
    sequence: t.float({ description: SEQUENCE, resolve: ({ event }) => event.sequence }),
    partsLeft: t.int({ description: PARTS_LEFT, resolve: ({ event }) => event.partsLeft }),
    clients: t.field({
      description:
        'SNAPSHOT: all clients, or the first of them (see `partsLeft`). CHANGE: those that came or became different, also persistent sessions that went offline.',
      type: [ConnectedClient],
      resolve: ({ views, event }) =>
        views(event.kind === 'SNAPSHOT' ? event.snapshot.clients : event.kind === 'CHANGE' ? event.change.changed : []),
    }),
    removed: t.field({
      description: 'CHANGE: ids of clients that are gone.',
      type: ['ID'],
      resolve: ({ event }) => (event.kind === 'CHANGE' ? [...event.change.removed] : []),
    }),
    isComplete: t.boolean({
      nullable: true,
      description: 'SNAPSHOT: false when clients that connected earlier may be missing.',
      resolve: ({ event }) => (event.kind === 'SNAPSHOT' ? event.snapshot.complete : null),
    }),
    missed: t.int({
      description: 'GAP: how many changes were left out.',
      nullable: true,
      resolve: ({ event }) => (event.kind === 'GAP' ? event.missed : null),
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

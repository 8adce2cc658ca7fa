import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { ClientView } from '../client-view.ts';
import type { ConnectedClientDetail } from '../inspect/inspect-data.ts';
import { subscriptionsOf } from '../inspect/subscriptions.ts';
import { unknownFields } from '../inspect/unknown-fields.ts';
import { detail } from './client-detail.ts';
import {
  ClientInflightType,
  ClientListenerType,
  ClientProtocol,
  ClientProtocolVersion,
  ClientQueuesType,
  ClientSource,
  ClientSubscriptionType,
  ClientTlsType,
  ClientWillType,
  UnknownFieldType,
} from './client-parts-schema.ts';

type DetailNumber =
  | 'numSubscriptions'
  | 'numPublished'
  | 'numSubscribed'
  | 'numDropped'
  | 'bytesPublished'
  | 'bytesSubscribed';

type ClientFields = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], ClientView>;

/** Fields that cost one request to the broker per client of a list. */
function detailFields(t: ClientFields) {
  const counter = (key: DetailNumber, description: string) =>
    t.float({
      description,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, (known) => known[key] ?? null),
    });
  return {
    numSubscriptions: counter('numSubscriptions', 'Active subscriptions.'),
    numPublished: counter('numPublished', 'Messages received from the client.'),
    numSubscribed: counter('numSubscribed', 'Messages sent to the client.'),
    numDropped: counter('numDropped', 'Messages dropped because a queue was full.'),
    bytesPublished: counter('bytesPublished', 'Payload bytes received from the client.'),
    bytesSubscribed: counter('bytesSubscribed', 'Payload bytes sent to the client.'),
    keepalive: t.int({
      description: 'Seconds.',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, ({ keepalive }) => keepalive ?? null),
    }),
    cleanSession: t.boolean({
      description: 'Whether the broker discards the session when the client reconnects.',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, ({ cleanSession }) => cleanSession ?? null),
    }),
    tls: t.field({
      type: ClientTlsType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, ({ tls }) => tls ?? null),
    }),
    listener: t.field({
      type: ClientListenerType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, ({ listener }) => listener ?? null),
    }),
    will: t.field({
      type: ClientWillType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, ({ will }) => will ?? null),
    }),
    subscriptions: t.stringList({
      description: 'Topic filters.',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) =>
        detail(client, context, ({ subscriptions }) => (subscriptions ? [...subscriptions] : null)),
    }),
    subscriptionDetails: t.field({
      description: 'The subscriptions with QoS and options.',
      type: [ClientSubscriptionType],
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, subscriptionsOf),
    }),
    inflight: t.field({
      type: ClientInflightType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) => detail(client, context, ({ inflight }) => inflight ?? null),
    }),
  };
}

export const ConnectedClient = builder.objectRef<ClientView>('ConnectedClient').implement({
  description:
    'A client of a broker: connected now, or a persistent session. A field is null if the source does not know it. In a list, each field from `numSubscriptions` to `inflight` costs one request to the broker per client.',
  fields: (t) => ({
    clientId: t.string({ resolve: ({ known }) => known.clientid }),
    username: t.string({
      description: '`<anonymous>` if the client gave none.',
      resolve: ({ known }) => known.username,
    }),
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
      description: 'Epoch milliseconds; null also if the client never disconnected.',
      nullable: true,
      resolve: ({ known }) => known.lastDisconnect ?? null,
    }),
    queues: t.field({
      description:
        'Read when the field is resolved: a list or an event costs one request to the broker for all its clients. Changes of this field alone send no event.',
      type: ClientQueuesType,
      nullable: true,
      resolve: async (client, _args, context) => {
        // One request for the whole list, so the length of the list does not matter.
        const counts = await client.readQueues(() => mayQueryBroker(context, false));
        return counts && { client, counts };
      },
    }),
    isBridge: t.boolean({
      description: 'Whether the client is a bridge of another broker.',
      resolve: ({ known }) => known.bridge ?? false,
    }),
    isGateway: t.boolean({
      description: 'Whether the client is a connection of this service itself.',
      resolve: ({ isGateway }) => isGateway,
    }),
    disconnectReason: t.string({
      description: 'Why the last connection ended, in the broker’s words.',
      nullable: true,
      resolve: ({ known }) => known.disconnectReason ?? null,
    }),
    ...detailFields(t),
    unknownFields: t.field({
      description:
        'Fields that are null because the source does not know them. Empty also if the client no longer exists.',
      type: [UnknownFieldType],
      complexity: BROKER_QUERY_COST,
      resolve: async (client, _args, context) =>
        (await detail(client, context, (known) => unknownFields(withListed(known, client), client.source))) ?? [],
    }),
    source: t.field({ type: ClientSource, resolve: ({ source }) => source }),
    asOf: t.field({
      description: 'The time of this information.',
      type: 'DateTime',
      resolve: ({ asOf }) => new Date(asOf),
    }),
    nodeId: t.int({
      description: 'The node of the client, in a cluster whose nodes have clients of their own.',
      nullable: true,
      resolve: ({ known }) => known.node ?? null,
    }),
    broker: t.field({ type: Broker, resolve: ({ broker }) => broker }),
  }),
});

/** Adds the fields that the list reported and the detail does not. */
function withListed(detail: ConnectedClientDetail, { known }: ClientView): ConnectedClientDetail {
  const { queues = known.queues } = detail;
  return { ...known, ...detail, ...(queues && { queues: { ...known.queues, ...queues } }) };
}

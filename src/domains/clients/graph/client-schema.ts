import { builder } from '../../../gateway/graphql/builder.ts';
import { QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import { mayAskBroker } from '../../../gateway/graphql/walk-limit.ts';
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
    queues: t.field({
      description:
        'As it is when this is answered: a list or an event costs one question to the broker for all its clients. Changes of it alone make no event.',
      type: ClientQueuesType,
      nullable: true,
      resolve: async (client, _args, context) => {
        // One question for all of a list, however long that is.
        const counts = await client.readQueues(() => mayAskBroker(context, false));
        return counts && { client, counts };
      },
    }),
    isBridge: t.boolean({ description: 'A bridge of another broker.', resolve: ({ known }) => known.bridge ?? false }),
    isGateway: t.boolean({
      description: 'A connection of this service itself.',
      resolve: ({ isGateway }) => isGateway,
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
      resolve: (client, _args, context) => detail(client, context, ({ numSubscriptions }) => numSubscriptions ?? null),
    }),
    numPublished: t.float({
      description: 'Messages received from the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ numPublished }) => numPublished ?? null),
    }),
    numSubscribed: t.float({
      description: 'Messages sent to the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ numSubscribed }) => numSubscribed ?? null),
    }),
    numDropped: t.float({
      description: 'Messages dropped because a queue was full.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ numDropped }) => numDropped ?? null),
    }),
    bytesPublished: t.float({
      description: 'Payload bytes received from the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ bytesPublished }) => bytesPublished ?? null),
    }),
    bytesSubscribed: t.float({
      description: 'Payload bytes sent to the client.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ bytesSubscribed }) => bytesSubscribed ?? null),
    }),
    keepalive: t.int({
      description: 'Seconds.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ keepalive }) => keepalive ?? null),
    }),
    cleanSession: t.boolean({
      description: 'The broker forgets the session when the client reconnects.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ cleanSession }) => cleanSession ?? null),
    }),
    tls: t.field({
      type: ClientTlsType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ tls }) => tls ?? null),
    }),
    listener: t.field({
      type: ClientListenerType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ listener }) => listener ?? null),
    }),
    will: t.field({
      type: ClientWillType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ will }) => will ?? null),
    }),
    subscriptions: t.stringList({
      description: 'Topic filters.',
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) =>
        detail(client, context, ({ subscriptions }) => (subscriptions ? [...subscriptions] : null)),
    }),
    subscriptionDetails: t.field({
      description: 'The same with what is known of each.',
      type: [ClientSubscriptionType],
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, subscriptionsOf),
    }),
    inflight: t.field({
      type: ClientInflightType,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (client, _args, context) => detail(client, context, ({ inflight }) => inflight ?? null),
    }),
    unknownFields: t.field({
      description:
        'Fields that are null because the source does not know them. Empty too when the client has gone meanwhile.',
      type: [UnknownFieldType],
      complexity: QUESTION_COST,
      resolve: async (client, _args, context) =>
        (await detail(client, context, (known) => unknownFields(withListed(known, client), client.source))) ?? [],
    }),
    source: t.field({ type: ClientSource, resolve: ({ source }) => source }),
    asOf: t.field({ description: 'When this was so.', type: 'DateTime', resolve: ({ asOf }) => new Date(asOf) }),
    nodeId: t.int({
      description: 'Where it is, in a cluster whose nodes have clients of their own.',
      nullable: true,
      resolve: ({ known }) => known.node ?? null,
    }),
    broker: t.field({ type: Broker, resolve: ({ broker }) => broker }),
  }),
});

/** What a list told, and the detail may not. */
function withListed(detail: ConnectedClientDetail, { known }: ClientView): ConnectedClientDetail {
  const { queues = known.queues } = detail;
  return { ...known, ...detail, ...(queues && { queues: { ...known.queues, ...queues } }) };
}

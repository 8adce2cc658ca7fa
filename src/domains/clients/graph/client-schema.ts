import type { RequestContext } from '../../../gateway/context.ts';
import { builder, type OutputFields } from '../../../gateway/graphql/builder.ts';
import { findsNamedNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import { keyOf, refOf } from '../../../protocol/apis/clients/client-key.ts';
import type { ConnectedClientDetail, ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import { subscriptionsReason, unknownFields } from '../../../protocol/apis/clients/unknown-fields.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { ClientView } from '../client-view.ts';
import {
  ClientListenerType,
  ClientProtocol,
  ClientProtocolVersion,
  ClientSource,
  ClientSubscriptionType,
  ClientTlsType,
  ClientWillType,
  detail,
  subscriptionsOf,
  UnknownFieldType,
} from './client-parts-schema.ts';
import { ClientInflightType, ClientQueuesType } from './client-queues-schema.ts';

const summary = <T>(read: (known: ConnectedClientSummary) => T, description?: string) => ({
  ...(description && { description }),
  nullable: true as const,
  resolve: ({ known }: ClientView) => read(known),
});

/** Undefined, which is unknown, differs from null in REST. */
const timeIn = (epochMs: number | null | undefined) => (typeof epochMs === 'number' ? new Date(epochMs) : epochMs);

/** Options of a nullable field of the detail, which costs one request to the broker per client of a list. */
const detailed = <T>(read: (known: ConnectedClientDetail) => T, description?: string) => ({
  ...(description && { description }),
  nullable: true as const,
  complexity: BROKER_QUERY_COST,
  resolve: (client: ClientView, _args: object, context: RequestContext) => detail(client, context, read),
});

const counted = (read: (known: ConnectedClientDetail) => number | undefined, description: string) => ({
  ...detailed(read, description),
  type: 'SafeInt' as const,
});

const detailFields = (t: OutputFields<ClientView>) => ({
  numSubscriptions: t.field(
    counted(
      (known) => known.numSubscriptions,
      'Active subscriptions, also those that `subscriptions` does not list: a plain Mosquitto’s log is read, of which at most 1,000 subscriptions of a client are listed, and further ones are counted.',
    ),
  ),
  numPublished: t.field(counted((known) => known.numPublished, 'Messages received from the client.')),
  numSubscribed: t.field(counted((known) => known.numSubscribed, 'Messages sent to the client.')),
  numDropped: t.field(counted((known) => known.numDropped, 'Messages dropped because a queue was full.')),
  bytesPublished: t.field(counted((known) => known.bytesPublished, 'Payload bytes received from the client.')),
  bytesSubscribed: t.field(counted((known) => known.bytesSubscribed, 'Payload bytes sent to the client.')),
  keepalive: t.int(detailed((known) => known.keepalive, 'Seconds.')),
  cleanSession: t.boolean(
    detailed((known) => known.cleanSession, 'Whether the broker discards the session when the client reconnects.'),
  ),
  tls: t.field({
    type: ClientTlsType,
    ...detailed((known) => known.tls, 'The encryption; `null` also if the connection has none.'),
  }),
  listener: t.field({
    type: ClientListenerType,
    ...detailed((known) => known.listener, 'The listener that accepted the connection.'),
  }),
  will: t.field({
    type: ClientWillType,
    ...detailed((known) => known.will, 'The will message; `null` also if the client has none.'),
  }),
  subscriptions: t.stringList(detailed((known) => known.subscriptions, 'Topic filters.')),
  subscriptionDetails: t.field({
    type: [ClientSubscriptionType],
    ...detailed(subscriptionsOf, 'The subscriptions with QoS and options.'),
  }),
  inflight: t.field({
    type: ClientInflightType,
    ...detailed((known) => known.inflight, 'Messages whose acknowledgement is not complete.'),
  }),
});

/** The global id of a client, by its key in the list of the broker. */
export const clientNodeId = ({ id }: Pick<BrokerRecord, 'id'>, key: string): string =>
  namedNodeId({ kind: 'connectedClient', brokerId: id, name: key });

export const ConnectedClient = builder.objectRef<ClientView>('ConnectedClient').implement({
  ...withBroker,
  description:
    'A client of a broker: connected now, or a persistent session. A field is null if the source does not know it. In a list, each field from `numSubscriptions` to `inflight` costs one request to the broker per client.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description:
        'Depends on the broker and the client id only, in a cluster whose nodes have clients of their own also on the node.',
      resolve: ({ broker, known }) => clientNodeId(broker, keyOf(known)),
    }),
    clientId: t.string({
      description: 'The MQTT client id, which the client chose or the broker assigned.',
      resolve: ({ known }) => known.clientid,
    }),
    username: t.string({
      description: '`<anonymous>` if the client gave none.',
      resolve: ({ known }) => known.username,
    }),
    address: t.string(summary((known) => known.address, 'IP address.')),
    remotePort: t.int(summary((known) => known.remotePort, 'TCP port on the side of the client.')),
    protocol: t.field({
      type: ClientProtocol,
      ...summary((known) => known.protocol, 'The protocol of the connection.'),
    }),
    protocolVersion: t.field({
      type: ClientProtocolVersion,
      ...summary((known) => known.protocolVersion, 'The version of MQTT.'),
    }),
    isConnected: t.boolean(
      summary((known) => known.connected, 'Whether the client is connected. false: only its session is stored.'),
    ),
    lastConnectedAt: t.field({
      type: 'DateTime',
      ...summary(({ lastConnect }) => timeIn(lastConnect), 'When the client connected last.'),
    }),
    lastDisconnectedAt: t.field({
      type: 'DateTime',
      ...summary(
        ({ lastDisconnect }) => timeIn(lastDisconnect),
        'When the client disconnected last; null also if it never disconnected.',
      ),
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
    isGateway: t.exposeBoolean('isGateway', {
      description: 'Whether the client is a connection of this service itself.',
    }),
    disconnectReason: t.string(
      summary((known) => known.disconnectReason, 'Why the last connection ended, in the broker’s words.'),
    ),
    ...detailFields(t),
    subscriptionsReason: t.string({
      description:
        'Why the list of subscriptions is not complete. Null if it has all, or if it is null itself: `unknownFields` has its reason.',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (client, _args, context) =>
        detail(client, context, (known) => subscriptionsReason(known, client.source)),
    }),
    unknownFields: t.field({
      description:
        'Fields that are null because the source does not know them. Empty also if the client no longer exists.',
      type: [UnknownFieldType],
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (client, _args, context) =>
        (await detail(client, context, (known) => unknownFields(withListed(known, client), client.source))) ?? [],
    }),
    source: t.expose('source', {
      description: 'Whether the broker reports the client, or this service follows it in the log.',
      type: ClientSource,
    }),
    asOf: knownTimeField(t, 'The time of this information.', ({ asOf }) => asOf),
    nodeId: t.int(
      summary((known) => known.node, 'The node of the client, in a cluster whose nodes have clients of their own.'),
    ),
    broker: t.expose('broker', { description: 'The broker to which the client connects.', type: Broker }),
  }),
});

findsNamedNode('connectedClient', async (broker, key, { services }) => {
  const { clientid, node } = refOf(key);
  const client = await services.clients.find(broker, clientid, node);
  // A broker without nodes ignores the node.
  return client && keyOf(client.known) === key ? client : null;
});

/** Adds the fields that the list reported and the detail does not. */
function withListed(detail: ConnectedClientDetail, { known }: ClientView): ConnectedClientDetail {
  const { queues = known.queues } = detail;
  return { ...known, ...detail, ...(queues && { queues: { ...known.queues, ...queues } }) };
}

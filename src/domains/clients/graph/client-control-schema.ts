import { builder, type InputFields, type OutputFields, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { errorField } from '../../../gateway/graphql/change-error.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { DISCONNECT_STATUSES, DisconnectResult } from '../control/bulk-disconnect.ts';
import { MAX_LIMIT } from '../control/bulk-selection.ts';
import type { BulkDisconnectReport, ClientReport, DisconnectReport } from '../control/client-control-service.ts';
import { BROKER, limit, RESULTS, statusCounts, target } from './bulk-fields.ts';
import { ConnectedClientFilter } from './client-filter-schema.ts';
import { ConnectedClient } from './client-schema.ts';

const DisconnectMethod = describedEnum('DisconnectMethod', 'How a client was disconnected.', {
  BROKER: 'The broker ended only this connection.',
  ACCOUNT: 'The broker ended every connection of the account.',
  TAKEOVER: 'A connection of this service took over the session, and disconnected.',
});

const SendRetain = builder.enumType('SendRetain', {
  description: 'When the broker sends retained messages for a subscription.',
  values: {
    ALWAYS: { value: 'always', description: 'For each subscription (Retain Handling 0).' },
    NEW: { value: 'new', description: 'Only if the subscription did not exist (Retain Handling 1).' },
    NEVER: { value: 'never', description: 'Never (Retain Handling 2).' },
  } as const,
});

const DisconnectStatusType = describedEnum<(typeof DISCONNECT_STATUSES)[number]>(
  'DisconnectStatus',
  'The result for one selected client.',
  {
    DISCONNECTED: 'The broker confirmed that it disconnected the client.',
    WOULD_DISCONNECT: 'A dry run: the client was not disconnected.',
    REFUSED:
      'The client was not disconnected: see `error`. Its `info.clients` lists other clients that would be disconnected, too.',
    NOT_FOUND: 'The client is not connected, or does not match the filter.',
    FAILED: 'The broker is unreachable, or its response was lost; then it may have disconnected the client.',
  },
);

const reportFields = <T extends ClientReport>(t: OutputFields<T>) => ({
  clientId: t.string({ description: 'The client id of the input.', resolve: ({ clientId }) => clientId }),
  client: t.field({
    description: 'The client after the command; null if it no longer exists.',
    type: ConnectedClient,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: ({ readClient }) => readClient(),
  }),
  broker: t.field({ description: BROKER, type: Broker, resolve: ({ broker }) => broker }),
});

const DisconnectClientPayload = builder.objectRef<DisconnectReport>('DisconnectClientPayload').implement({
  ...withBroker,
  description: 'How a client was disconnected, and which other clients with it.',
  fields: (t) => ({
    ...reportFields(t),
    method: t.expose('method', { description: 'How the broker disconnected the client.', type: DisconnectMethod }),
    disconnected: t.exposeStringList('disconnected', {
      description: 'Client ids of all clients that are known to be disconnected by this.',
    }),
  }),
});
const SubscribeClientPayload = builder
  .objectRef<ClientReport>('SubscribeClientPayload')
  .implement({ ...withBroker, description: 'The client that was subscribed.', fields: (t) => reportFields(t) });
const UnsubscribeClientPayload = builder
  .objectRef<ClientReport>('UnsubscribeClientPayload')
  .implement({ ...withBroker, description: 'The client that was unsubscribed.', fields: (t) => reportFields(t) });

const DisconnectResultType = builder.objectRef<DisconnectResult>('DisconnectResult').implement({
  description: 'The result for one of many clients.',
  fields: (t) => ({
    clientId: t.exposeString('clientId', { description: 'Id of a selected client.' }),
    status: t.expose('status', { description: 'Whether the client was disconnected.', type: DisconnectStatusType }),
    error: errorField(t, 'The reason of REFUSED, NOT_FOUND or FAILED; otherwise null.'),
  }),
});

const DisconnectClientsPayload = builder.objectRef<BulkDisconnectReport>('DisconnectClientsPayload').implement({
  ...withBroker,
  description: 'The result for each selected client, and the number of results per status.',
  fields: (t) => {
    const count = statusCounts(t);
    return {
      results: t.expose('results', {
        description: RESULTS,
        type: [DisconnectResultType],
      }),
      disconnectedCount: count('DISCONNECTED'),
      wouldDisconnectCount: count('WOULD_DISCONNECT'),
      refusedCount: count('REFUSED'),
      notFoundCount: count('NOT_FOUND'),
      failedCount: count('FAILED'),
      alsoDisconnected: t.exposeStringList('alsoDisconnected', {
        description:
          'Ids of clients that were not selected, and were disconnected with their account; in a dry run: would be disconnected.',
      }),
      isComplete: t.exposeBoolean('isComplete', {
        description: 'false if unknown clients that match the filter may be connected.',
      }),
      broker: t.expose('broker', { description: BROKER, type: Broker }),
    };
  },
});

const oneClient = (t: InputFields) => ({
  ...target(t),
  clientId: t.string({ description: 'A client that is connected or has a persistent session.', required: true }),
});

const FORCE =
  'Only for brokers that disconnect whole accounts: also disconnect the client if other clients use its account, which are then disconnected, too. If the broker’s `allowsClientTakeover` is on, other clients are not disconnected: `force` then ends a clean session by taking it over, and the broker sends its will.';

const DISCARD_WILL =
  'Whether the broker discards the will. By default an embedded broker publishes it, as MQTT requires, after its Will Delay Interval and as far as the account may publish it. A plain Mosquitto discards it anyway, except with a clean session that `force` takes over: this is refused then. Error NOT_SUPPORTED_BY_BROKER for other brokers, which decide themselves.';

const DisconnectClientInput = builder.inputType('DisconnectClientInput', {
  description: 'The client to disconnect.',
  fields: (t) => ({
    ...oneClient(t),
    force: t.boolean({ defaultValue: false, description: FORCE }),
    discardWill: t.boolean({ defaultValue: false, description: DISCARD_WILL }),
  }),
});

const SubscribeClientInput = builder.inputType('SubscribeClientInput', {
  description: 'The client to subscribe, and the subscription.',
  fields: (t) => ({
    ...oneClient(t),
    topic: t.string({
      required: true,
      description: 'Topic filter. Shared subscriptions and topics below $CONTROL are not allowed.',
    }),
    qos: t.int({ required: true, defaultValue: 0, description: '0, 1 or 2.' }),
    noLocal: t.boolean({ description: 'MQTT 5: whether the client does not receive its own messages.' }),
    retainAsPublished: t.boolean({ description: 'MQTT 5: whether messages keep their retain flag.' }),
    sendRetain: t.field({ type: SendRetain, description: 'Default: as the broker does by default, ALWAYS.' }),
    subscriptionIdentifier: t.int({
      description: 'MQTT 5: sent to the client with each message; from 1 to 268435455.',
    }),
  }),
});

const UnsubscribeClientInput = builder.inputType('UnsubscribeClientInput', {
  description: 'The client to unsubscribe, and the topic filter.',
  fields: (t) => ({ ...oneClient(t), topic: t.string({ required: true, description: 'Topic filter.' }) }),
});

const DisconnectClientsInput = builder.inputType('DisconnectClientsInput', {
  description:
    'The clients to disconnect: those in `clientIds`, the connected clients that match `filter`, or with both the ids that match.',
  fields: (t) => ({
    ...target(t),
    clientIds: t.stringList({
      description: `Client ids, at most ${MAX_LIMIT}. If null, \`filter\` is required, and selects all that match.`,
    }),
    filter: t.field({ description: 'If null, `clientIds` is required.', type: ConnectedClientFilter }),
    force: t.boolean({ defaultValue: false, description: FORCE }),
    discardWill: t.boolean({ defaultValue: false, description: DISCARD_WILL }),
    dryRun: t.boolean({
      defaultValue: false,
      description: 'Disconnect no client, and return the result that each client would have.',
    }),
    limit: limit(t, 'none is disconnected'),
  }),
});

builder.mutationFields((t) => ({
  disconnectClient: t.field({
    description: 'Disconnects a client. Most clients reconnect automatically.',
    type: DisconnectClientPayload,
    ...writesOnBroker,
    args: inputArgument(DisconnectClientInput, 'The client.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.disconnect(services.brokers.visible(input.brokerId, viewer), input),
  }),
  subscribeClient: t.field({
    description: 'Subscribes a client to a topic filter, as if the client had sent SUBSCRIBE itself.',
    type: SubscribeClientPayload,
    ...writesOnBroker,
    args: inputArgument(SubscribeClientInput, 'The client and the subscription.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.subscribe(services.brokers.visible(input.brokerId, viewer), input),
  }),
  unsubscribeClient: t.field({
    description: 'Ends a subscription of a client, as if the client had sent UNSUBSCRIBE itself.',
    type: UnsubscribeClientPayload,
    ...writesOnBroker,
    args: inputArgument(UnsubscribeClientInput, 'The client and the topic filter.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.unsubscribe(services.brokers.visible(input.brokerId, viewer), input),
  }),
  disconnectClients: t.field({
    description: 'Disconnects many clients. A failure does not stop the others; each client has its own result.',
    type: DisconnectClientsPayload,
    ...writesOnBroker,
    args: inputArgument(DisconnectClientsInput, 'The clients.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.disconnectMany(services.brokers.visible(input.brokerId, viewer), input),
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  viewerCanControlClients: t.boolean(
    viewerCan(
      'Mutation.disconnectClient',
      'disconnect, subscribe and unsubscribe clients, and delete their sessions',
      ofBroker,
    ),
  ),
}));

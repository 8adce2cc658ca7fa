import { builder, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import type { ServiceError } from '../../../platform/errors.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { DISCONNECT_STATUSES, DisconnectResult, DisconnectStatus } from '../control/bulk-disconnect.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../control/bulk-selection.ts';
import type { BulkDisconnectReport, ClientReport, DisconnectReport } from '../control/client-control-service.ts';
import { ClientFilter } from './client-lists-schema.ts';
import { ConnectedClient } from './client-schema.ts';

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;
type ReportFields<T> = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], T>;

const DisconnectMethod = builder.enumType('DisconnectMethod', {
  description: 'How a client was disconnected.',
  values: {
    BROKER: { description: 'The broker ended that connection alone.' },
    ACCOUNT: { description: 'The broker ended every connection of its account.' },
    TAKEOVER: { description: 'A connection of this service took its session over for a moment.' },
  } as const,
});

const SendRetain = builder.enumType('SendRetain', {
  description: 'When the broker sends retained messages for a subscription.',
  values: {
    ALWAYS: { value: 'always', description: 'At each subscribing.' },
    NEW: { value: 'new', description: 'When there was no such subscription.' },
    NEVER: { value: 'never', description: 'Not at all.' },
  } as const,
});

const DisconnectStatusType = builder.enumType('DisconnectStatus', {
  description: 'What became of one of the selected clients.',
  values: {
    DISCONNECTED: { description: 'The broker has answered that it did it.' },
    WOULD_DISCONNECT: { description: 'A dry run; nothing was sent.' },
    REFUSED: {
      description: 'Nothing happened; the error says why, and `info.clients` who else would be disconnected.',
    },
    NOT_FOUND: { description: 'Not connected, or not among those that match.' },
    FAILED: { description: 'The broker could not be asked, or its answer was lost: then it may have done it.' },
  } as const satisfies Record<(typeof DISCONNECT_STATUSES)[number], object>,
});

/** An error as the value of a field: an instance of Error would fail the field. */
const ClientError = builder.objectRef<{ readonly error: ServiceError }>('ClientError').implement({
  description: 'Why a client was not disconnected.',
  fields: (t) => ({
    code: t.string({ description: 'As in the errors of the graph.', resolve: ({ error }) => error.code }),
    message: t.string({ description: 'For people.', resolve: ({ error }) => error.message }),
    info: t.field({
      description: 'What else a program may want to know, by `code`; null: nothing.',
      type: 'JSON',
      nullable: true,
      resolve: ({ error }) => error.info ?? null,
    }),
  }),
});

const BROKER = 'The one that was told to do it.';
const CLIENT = 'As it is after that; null: the broker has no such client any more.';

const reportFields = <T extends ClientReport>(t: ReportFields<T>) => ({
  clientId: t.string({ description: 'The one that was asked for.', resolve: ({ clientId }) => clientId }),
  client: t.field({
    description: CLIENT,
    type: ConnectedClient,
    nullable: true,
    complexity: QUESTION_COST,
    resolve: ({ readClient }) => readClient(),
  }),
  broker: t.field({ description: BROKER, type: Broker, resolve: ({ broker }) => broker }),
});

const DisconnectClientPayload = builder.objectRef<DisconnectReport>('DisconnectClientPayload').implement({
  description: 'How a client was disconnected, and who with it.',
  fields: (t) => ({
    ...reportFields(t),
    method: t.field({
      description: 'The way that this broker has.',
      type: DisconnectMethod,
      resolve: ({ method }) => method,
    }),
    disconnected: t.stringList({
      description: 'Client ids of all that were disconnected, as far as they are known.',
      resolve: ({ disconnected }) => [...disconnected],
    }),
  }),
});
const SubscribeClientPayload = builder
  .objectRef<ClientReport>('SubscribeClientPayload')
  .implement({ description: 'Who was subscribed.', fields: (t) => reportFields(t) });
const UnsubscribeClientPayload = builder
  .objectRef<ClientReport>('UnsubscribeClientPayload')
  .implement({ description: 'Whose subscription was ended.', fields: (t) => reportFields(t) });

const DisconnectResultType = builder.objectRef<DisconnectResult>('DisconnectResult').implement({
  description: 'What became of one of many clients.',
  fields: (t) => ({
    clientId: t.exposeString('clientId', { description: 'One of those that were selected.' }),
    status: t.field({
      description: 'Whether it was disconnected.',
      type: DisconnectStatusType,
      resolve: ({ status }) => status,
    }),
    error: t.field({
      description: 'REFUSED, NOT_FOUND and FAILED: why. Null: it was disconnected, or would be.',
      type: ClientError,
      nullable: true,
      resolve: ({ error }) => error && { error },
    }),
  }),
});

const DisconnectClientsPayload = builder.objectRef<BulkDisconnectReport>('DisconnectClientsPayload').implement({
  description: 'What became of each selected client, and how many of each kind.',
  fields: (t) => {
    const count = (status: DisconnectStatus) =>
      t.int({
        description: `Results with ${status}.`,
        resolve: ({ results }) => results.reduce((sum, result) => sum + (result.status === status ? 1 : 0), 0),
      });
    return {
      results: t.field({
        description: 'One for each selected client: in the order of `clientIds`, else in that of client ids.',
        type: [DisconnectResultType],
        resolve: ({ results }) => [...results],
      }),
      disconnectedCount: count('DISCONNECTED'),
      wouldDisconnectCount: count('WOULD_DISCONNECT'),
      refusedCount: count('REFUSED'),
      notFoundCount: count('NOT_FOUND'),
      failedCount: count('FAILED'),
      alsoDisconnected: t.stringList({
        description:
          'Client ids that were not selected, and were disconnected with their account; in a dry run: would be.',
        resolve: ({ alsoDisconnected }) => [...alsoDisconnected],
      }),
      isComplete: t.exposeBoolean('isComplete', {
        description: 'False: clients that match the filter may be connected without being known.',
      }),
      broker: t.field({ description: BROKER, type: Broker, resolve: ({ broker }) => broker }),
    };
  },
});

const target = (t: InputFields) => ({
  brokerId: t.id({ description: 'The broker that it is about.', required: true }),
  projectId: t.id({ description: 'When given, the broker must be in this project.' }),
});
const oneClient = (t: InputFields) => ({
  ...target(t),
  clientId: t.string({ description: 'Of a client that is connected, or has a persistent session.', required: true }),
});

const FORCE =
  'Where only whole accounts can be disconnected: also when others use the account of a client, who are disconnected too. Where the broker’s `clientTakeover` is on nobody else is: `force` then ends a clean session by taking it over, and its will is sent.';

const DisconnectClientInput = builder.inputType('DisconnectClientInput', {
  description: 'Whom to disconnect.',
  fields: (t) => ({ ...oneClient(t), force: t.boolean({ defaultValue: false, description: FORCE }) }),
});

const SubscribeClientInput = builder.inputType('SubscribeClientInput', {
  description: 'Whom to subscribe, to what, and how.',
  fields: (t) => ({
    ...oneClient(t),
    topic: t.string({ required: true, description: 'Topic filter; no shared subscription, and not below $CONTROL.' }),
    qos: t.int({ required: true, description: '0, 1 or 2.' }),
    noLocal: t.boolean({ description: 'MQTT 5: what the client itself publishes does not come back.' }),
    retainAsPublished: t.boolean({
      description: 'MQTT 5: messages keep the retain flag that they were published with.',
    }),
    sendRetain: t.field({ type: SendRetain, description: 'Without it: as the broker does by default, ALWAYS.' }),
    subscriptionIdentifier: t.int({
      description: 'MQTT 5: told to the client with each message; from 1 to 268435455.',
    }),
  }),
});

const UnsubscribeClientInput = builder.inputType('UnsubscribeClientInput', {
  description: 'Which subscription of whom to end.',
  fields: (t) => ({ ...oneClient(t), topic: t.string({ required: true, description: 'Topic filter.' }) }),
});

const DisconnectClientsInput = builder.inputType('DisconnectClientsInput', {
  description:
    'Which clients: those of `clientIds`, those that are connected and match `filter`, or with both those of the ids that match.',
  fields: (t) => ({
    ...target(t),
    clientIds: t.stringList({ description: 'Exact; null: all that match `filter`, which is needed then.' }),
    filter: t.field({ description: 'Null: all of `clientIds`, which are needed then.', type: ClientFilter }),
    force: t.boolean({ defaultValue: false, description: FORCE }),
    dryRun: t.boolean({ defaultValue: false, description: 'Send nothing: answer what would become of each client.' }),
    limit: t.int({
      defaultValue: DEFAULT_LIMIT,
      description: `A guard against accidents: when more clients are selected nothing is done. At most ${MAX_LIMIT}.`,
    }),
  }),
});

builder.mutationFields((t) => ({
  disconnectClient: t.field({
    description: 'Ends the connection of a client. Most clients connect again by themselves.',
    type: DisconnectClientPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which client.', type: DisconnectClientInput, required: true }) },
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.disconnect(services.brokers.visible(input.brokerId, viewer), input),
  }),
  subscribeClient: t.field({
    description: 'Subscribes a client to a topic, as if it had done so itself.',
    type: SubscribeClientPayload,
    ...writesOnBroker,
    args: {
      input: t.arg({
        description: 'Which client, and which subscription.',
        type: SubscribeClientInput,
        required: true,
      }),
    },
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.subscribe(services.brokers.visible(input.brokerId, viewer), input),
  }),
  unsubscribeClient: t.field({
    description: 'Ends a subscription of a client, as if it had done so itself.',
    type: UnsubscribeClientPayload,
    ...writesOnBroker,
    args: {
      input: t.arg({
        description: 'Which client, and which subscription.',
        type: UnsubscribeClientInput,
        required: true,
      }),
    },
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.unsubscribe(services.brokers.visible(input.brokerId, viewer), input),
  }),
  disconnectClients: t.field({
    description:
      'Ends the connections of many clients. One that fails does not stop the others; each has its own result.',
    type: DisconnectClientsPayload,
    ...writesOnBroker,
    args: {
      input: t.arg({ description: 'Which clients, and how far to go.', type: DisconnectClientsInput, required: true }),
    },
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.disconnectMany(services.brokers.visible(input.brokerId, viewer), input),
  }),
}));

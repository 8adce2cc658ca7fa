import { builder, inProject, onBroker } from '../../gateway/graphql/builder.ts';
import type { ListenerProtocol } from '../../generated/sqlite/client.ts';
import { BrokerPayload, CloudBroker, CloudBrokerEngine, CloudBrokerTargetState } from './broker-schema.ts';

export const ListenerProtocolEnum = builder.enumType('ListenerProtocol', {
  description: 'What is spoken on a listener.',
  values: {
    MQTT: { value: 'MQTT' as ListenerProtocol, description: 'MQTT over TCP.' },
    WEBSOCKET: { value: 'WEBSOCKET' as ListenerProtocol, description: 'MQTT over WebSocket.' },
  },
});

const CreateListenerInput = builder.inputType('CreateListenerInput', {
  description: 'Where a broker shall listen.',
  fields: (t) => ({
    protocol: t.field({
      type: ListenerProtocolEnum,
      required: true,
      defaultValue: 'MQTT',
      description: 'Over what clients speak MQTT there.',
    }),
    port: t.int({
      required: true,
      defaultValue: 0,
      description:
        '0 takes a free one, a taken one moves to the next free one. It stays the same then. Ports below 1024 are for root administrators.',
    }),
    tls: t.boolean({
      required: true,
      defaultValue: false,
      description: 'It lets nobody in before a certificate is deployed on it.',
    }),
    requireCertificate: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Clients have to show a certificate of an authority that is deployed on it. Needs tls.',
    }),
  }),
});

const CreateCloudBrokerInput = builder.inputType('CreateCloudBrokerInput', {
  description: 'A broker that this service shall run.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: 'Where it belongs.' }),
    name: t.string({ required: true, description: 'At most 200 characters.' }),
    description: t.string({ description: 'At most 4,000 characters.' }),
    engine: t.field({
      type: CloudBrokerEngine,
      required: true,
      defaultValue: 'embedded',
      description: 'INVALID where it is not installed.',
    }),
    location: t.string({
      required: true,
      defaultValue: 'fsn1',
      description: 'Region code: fsn1, nbg1, hel1, ash or hil.',
    }),
    listeners: t.field({
      type: [CreateListenerInput],
      required: true,
      defaultValue: [{ protocol: 'MQTT', port: 0, tls: false, requireCertificate: false }],
      description: 'At most 10.',
    }),
  }),
});

const SetTargetStateInput = builder.inputType('SetTargetStateInput', {
  description: 'What shall become of a broker.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: 'One that this service runs.' }),
    targetState: t.field({ type: CloudBrokerTargetState, required: true, description: 'ACTIVE: it shall run.' }),
  }),
});

builder.objectFields(CloudBroker, (t) => ({
  problem: t.string({
    nullable: true,
    description:
      'Why it does not run although it should, or which stored records it runs without; null: nothing is wrong, or another process runs it.',
    resolve: ({ id }, _args, { services }) => services.cloudBrokers.problemOf(id),
  }),
}));

builder.mutationFields((t) => ({
  createCloudBroker: t.field({
    description:
      'Creates a broker that this service runs. It is started at once; brokerStatus reports its states. INVALID beyond MAX_CLOUD_BROKERS_PER_PROJECT (except for root administrators) and MAX_CLOUD_BROKERS.',
    type: BrokerPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ description: 'The broker.', type: CreateCloudBrokerInput, required: true }) },
    resolve: async (_root, { input: { projectId, ...broker } }, { services, viewer }) => ({
      broker: await services.cloudBrokers.create(projectId, broker, {
        name: viewer?.name ?? '',
        isRootAdmin: viewer?.isRootAdmin === true,
      }),
    }),
  }),
  setTargetState: t.field({
    description:
      'Starts or stops a broker that this service runs; brokerStatus tells its states. One in ERROR is tried again at once.',
    type: BrokerPayload,
    ...onBroker('EDITOR'),
    args: { input: t.arg({ description: 'Which, and what.', type: SetTargetStateInput, required: true }) },
    resolve: async (_root, { input: { brokerId, targetState } }, { services }) => ({
      broker: await services.cloudBrokers.setTargetState(brokerId, targetState),
    }),
  }),
}));

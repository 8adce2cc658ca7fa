import { builder, inProject, onBroker } from '../../gateway/graphql/builder.ts';
import { inputArgument } from '../../gateway/graphql/payloads.ts';
import type { ListenerProtocol } from '../../generated/sqlite/client.ts';
import { brokerPayload } from './broker-mutations-schema.ts';
import { CloudBroker } from './broker-schema.ts';
import { CloudBrokerEngine, CloudBrokerTargetState } from './broker-types-schema.ts';

const ListenerProtocolEnum = builder.enumType('ListenerProtocol', {
  description: 'The protocol of a listener.',
  values: {
    MQTT: { value: 'MQTT' as ListenerProtocol, description: 'MQTT over TCP.' },
    WEBSOCKET: { value: 'WEBSOCKET' as ListenerProtocol, description: 'MQTT over WebSocket.' },
  },
});

export const ListenerProtocolVersion = builder.enumType('ListenerProtocolVersion', {
  description: 'A version of MQTT that a listener accepts.',
  values: {
    V3_1: { value: 3, description: 'MQTT 3.1.' },
    V3_1_1: { value: 4, description: 'MQTT 3.1.1.' },
    V5: { value: 5, description: 'MQTT 5.0.' },
  } as const,
});

export const ProxyProtocol = builder.enumType('ProxyProtocol', {
  description: 'A version of the PROXY protocol, by which a proxy reports the addresses of clients.',
  values: {
    V1: { value: 1, description: 'The text format.' },
    V2: { value: 2, description: 'The binary format.' },
  } as const,
});

const CreateListenerInput = builder.inputType('CreateListenerInput', {
  description: 'A listener of a broker.',
  fields: (t) => ({
    protocol: t.field({
      type: ListenerProtocolEnum,
      required: true,
      defaultValue: 'MQTT',
      description: 'The protocol for clients.',
    }),
    port: t.int({
      required: true,
      defaultValue: 0,
      description:
        '0 selects a free port, which does not change afterwards. If the port is in use, the broker is in the state ERROR until it is free. Ports below 1024 require a root administrator.',
    }),
    hasTls: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether the listener uses TLS. It accepts no clients before a certificate is deployed on it.',
    }),
    requiresCertificate: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Whether clients must present a certificate signed by an authority that is deployed on the listener. Requires `hasTls`.',
    }),
    protocolVersions: t.field({
      type: [ListenerProtocolVersion],
      description: 'The versions of MQTT that clients may use. Default: all. Requires Mosquitto 2.1.',
    }),
    proxyProtocol: t.field({
      type: ProxyProtocol,
      description:
        'The version of the PROXY protocol that each connection must begin with. Default: none. Only proxies may reach the port, because a client could claim any address. Requires Mosquitto 2.1, and `hasTls: false`.',
    }),
  }),
});

const AddListenerInput = builder.inputType('AddListenerInput', {
  description: 'A listener that is added to a broker.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: 'A broker that this service runs.' }),
    listener: t.field({
      type: CreateListenerInput,
      required: true,
      description: 'The listener to add; port 0 chooses a free one.',
    }),
  }),
});

const UpdateListenerInput = builder.inputType('UpdateListenerInput', {
  description: 'Another port for a listener.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: 'A broker that this service runs.' }),
    number: t.int({
      required: true,
      description: 'The number of the listener: 1 for the first one it was created with.',
    }),
    port: t.int({
      required: true,
      description: '0 selects a free port. Ports below 1024 require a root administrator.',
    }),
  }),
});

const RemoveListenerInput = builder.inputType('RemoveListenerInput', {
  description: 'A listener that is removed.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: 'A broker that this service runs.' }),
    number: t.int({ required: true, description: 'The number of the listener.' }),
  }),
});

const CreateCloudBrokerInput = builder.inputType('CreateCloudBrokerInput', {
  description: 'A broker that this service runs.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: 'The project of the broker.' }),
    name: t.string({ required: true, description: 'At most 200 characters.' }),
    description: t.string({ description: 'At most 4,000 characters.' }),
    engine: t.field({
      type: CloudBrokerEngine,
      required: true,
      defaultValue: 'embedded',
      description: 'The engine. INVALID if no process can run it.',
    }),
    location: t.string({
      required: true,
      defaultValue: 'fsn1',
      description: 'Region code: fsn1, nbg1, hel1, ash or hil.',
    }),
    maxClients: t.int({
      description:
        'Maximum number of sessions, connected or not, at least 20. Clients with further sessions are refused, and those of this service count. Default: no maximum. Requires Mosquitto 2.1.',
    }),
    maxConnections: t.int({
      description:
        'Maximum number of connections, at least 20. Further ones are closed, and those of this service count. Default: no maximum. Requires Mosquitto 2.1.',
    }),
    listeners: t.field({
      type: [CreateListenerInput],
      required: true,
      defaultValue: [{ protocol: 'MQTT', port: 0, hasTls: false, requiresCertificate: false }],
      description: 'At most 10.',
    }),
  }),
});

const SetTargetStateInput = builder.inputType('SetTargetStateInput', {
  description: 'The target state of a broker.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: 'A broker that this service runs.' }),
    targetState: t.field({
      type: CloudBrokerTargetState,
      required: true,
      description: 'ACTIVE starts the broker, INACTIVE stops it.',
    }),
  }),
});

const CloudBrokerHost = builder
  .objectRef<{ readonly host: string; readonly awaySince: string | null }>('CloudBrokerHost')
  .implement({
    description:
      'Where a broker of this service runs. A broker belongs to the process that has its data, so no other process takes it over.',
    fields: (t) => ({
      host: t.exposeString('host', { description: 'Name of the machine of the process.' }),
      isAvailable: t.boolean({
        description: 'Whether the process is connected to the database.',
        resolve: ({ awaySince }) => awaySince === null,
      }),
      awaySince: t.expose('awaySince', {
        description:
          'When the process was stopped, or when the other processes noticed that it is gone. Null while it is available.',
        type: 'DateTime',
        nullable: true,
      }),
    }),
  });

builder.objectFields(CloudBroker, (t) => ({
  problem: t.string({
    nullable: true,
    description:
      'Why the broker does not run although it should, why it cannot store, or which stored records it could not load. Null if there is no problem.',
    resolve: (broker, _args, { services }) => services.cloudBrokers.stateOf(broker).problem,
  }),
  maxClients: t.int({
    nullable: true,
    description: 'Maximum number of sessions, connected or not. Null if there is no maximum.',
    resolve: ({ maxClients }) => maxClients,
  }),
  maxConnections: t.int({
    nullable: true,
    description: 'Maximum number of connections. Null if there is no maximum.',
    resolve: ({ maxConnections }) => maxConnections,
  }),
  runsOn: t.field({
    description:
      'Where the broker runs or ran last. Null before the first start, and if no process has the data of a broker of an earlier version.',
    type: CloudBrokerHost,
    nullable: true,
    resolve: ({ host, awaySince }) => (host === null ? null : { host, awaySince }),
  }),
}));

function wantedListener({
  hasTls,
  requiresCertificate,
  protocolVersions,
  proxyProtocol,
  ...listener
}: typeof CreateListenerInput.$inferInput) {
  return {
    ...listener,
    tls: hasTls,
    requireCertificate: requiresCertificate,
    protocolLevels: protocolVersions ? [...new Set(protocolVersions)].sort().join(',') : null,
    proxyProtocol: proxyProtocol ?? null,
  };
}

builder.mutationFields((t) => ({
  createCloudBroker: t.field({
    description:
      'Creates a broker that this service runs, and starts it immediately; brokerStatus reports its state. With several processes, it runs in the one with the fewest of these brokers that has the engine. INVALID if no process has it, and beyond MAX_CLOUD_BROKERS_PER_PROJECT (except for root administrators) and MAX_CLOUD_BROKERS.',
    type: brokerPayload('createCloudBroker'),
    ...inProject('ADMIN'),
    args: inputArgument(CreateCloudBrokerInput, 'The broker.'),
    resolve: async (_root, { input: { projectId, listeners, ...broker } }, { services, viewer }) => {
      const wanted = listeners.map(wantedListener);
      const by = { name: viewer?.name ?? '', isRootAdmin: viewer?.isRootAdmin === true };
      return { broker: await services.cloudBrokers.create(projectId, { ...broker, listeners: wanted }, by) };
    },
  }),
  addListener: t.field({
    description:
      'Adds a listener to a broker that this service runs. The broker starts again with it; clients are disconnected, and sessions stay.',
    type: brokerPayload('addListener'),
    ...onBroker('ADMIN'),
    args: inputArgument(AddListenerInput, 'The broker and the listener.'),
    resolve: async (_root, { input: { brokerId, listener } }, { services, viewer }) => ({
      broker: await services.cloudBrokers.changeListeners(
        brokerId,
        { add: wantedListener(listener) },
        viewer?.isRootAdmin === true,
      ),
    }),
  }),
  updateListener: t.field({
    description:
      'Changes the port of a listener of a broker that this service runs. The broker starts again; clients are disconnected, and sessions stay.',
    type: brokerPayload('updateListener'),
    ...onBroker('ADMIN'),
    args: inputArgument(UpdateListenerInput, 'The listener and its port.'),
    resolve: async (_root, { input: { brokerId, number, port } }, { services, viewer }) => ({
      broker: await services.cloudBrokers.changeListeners(
        brokerId,
        { update: number, port },
        viewer?.isRootAdmin === true,
      ),
    }),
  }),
  removeListener: t.field({
    description:
      'Removes a listener of a broker that this service runs. The broker starts again; clients are disconnected, and sessions stay. INVALID for the last listener, and while certificates are deployed on it.',
    type: brokerPayload('removeListener'),
    ...onBroker('ADMIN'),
    args: inputArgument(RemoveListenerInput, 'The broker and the listener.'),
    resolve: async (_root, { input: { brokerId, number } }, { services, viewer }) => ({
      broker: await services.cloudBrokers.changeListeners(brokerId, { remove: number }, viewer?.isRootAdmin === true),
    }),
  }),
  setTargetState: t.field({
    description:
      'Starts or stops a broker that this service runs; brokerStatus reports its state. A broker in ERROR is retried immediately.',
    type: brokerPayload('setTargetState'),
    ...onBroker('EDITOR'),
    args: inputArgument(SetTargetStateInput, 'The broker and its target state.'),
    resolve: async (_root, { input: { brokerId, targetState } }, { services }) => ({
      broker: await services.cloudBrokers.setTargetState(brokerId, targetState),
    }),
  }),
}));

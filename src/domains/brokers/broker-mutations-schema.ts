import { builder, type InputFields, inProject, onBroker } from '../../gateway/graphql/builder.ts';
import { idPayload, inputArgument, payloadsWith } from '../../gateway/graphql/payloads.ts';
import { mayControl, requireSignedIn } from '../../platform/auth/viewer.ts';
import { invalid } from '../../platform/errors.ts';
import { TESTS_PER_MINUTE } from '../../platform/limits/test-limit.ts';
import type { BrokerRecord } from './broker-cache.ts';
import {
  BINDS_SESSIONS,
  BROKER_ID,
  CLIENT_TAKEOVER,
  CLUSTER_MODE,
  ISSUED_TO,
  METRICS_ENABLED,
  PRODUCT_ID,
  PROJECT_ID,
} from './broker-descriptions.ts';
import { BrokerConnectionStatus, Capability } from './broker-info-schema.ts';
import { Broker } from './broker-schema.ts';
import type { BrokerTest } from './broker-tests.ts';
import { BrokerType, ClusterMode } from './broker-types-schema.ts';

const FILE = 'A file in the folder BROKER_FILES_DIR of the service.';

const addressFields = (t: InputFields) => ({
  url: t.string({ description: 'mqtt://, mqtts://, ws:// or wss://, without credentials.' }),
  username: t.string({ description: 'The user name for the connection.' }),
  password: t.string({ description: 'Never returned, and stored encrypted only.' }),
  caCert: t.string({ description: 'PEM of the authority that signed the broker’s certificate.' }),
  caCertFile: t.string({ description: FILE }),
  clientCert: t.string({ description: 'PEM, for brokers that require a client certificate.' }),
  clientCertFile: t.string({ description: FILE }),
  clientKey: t.string({ description: 'PEM. Never returned, and stored encrypted only.' }),
  clientKeyFile: t.string({ description: FILE }),
  verifyCaCert: t.boolean({ description: 'false accepts any certificate of the broker.' }),
});

const connectionFields = (t: InputFields) => ({
  name: t.string({ description: '1 to 200 characters. Default for a new broker: host and port of the URL.' }),
  description: t.string({ description: 'Text for users, at most 4,000 characters. Default: none.' }),
  ...addressFields(t),
  metricsEnabled: t.boolean({ description: METRICS_ENABLED }),
  isCluster: t.boolean({ description: 'Whether the broker represents a cluster.' }),
  clusterMode: t.field({ type: ClusterMode, description: CLUSTER_MODE }),
  allowsClientTakeover: t.boolean({ description: CLIENT_TAKEOVER }),
});

interface Switches {
  readonly isCluster?: boolean | null | undefined;
  readonly allowsClientTakeover?: boolean | null | undefined;
  readonly bindsSessionsToAccounts?: boolean | null | undefined;
}

/** The settings with the names of the table. */
const settingsOf = <Input extends Switches>({
  isCluster,
  allowsClientTakeover,
  bindsSessionsToAccounts,
  ...settings
}: Input) => ({
  ...settings,
  ha: isCluster,
  clientTakeover: allowsClientTakeover,
  boundSessions: bindsSessionsToAccounts,
});

const AddBrokerInput = builder.inputType('AddBrokerInput', {
  description: 'A broker outside this service, and the connection to it.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    type: t.field({ type: BrokerType, defaultValue: 'SELF_HOSTED', description: 'SELF_HOSTED or ON_PREMISE_SETUP.' }),
    ...connectionFields(t),
    issuedTo: t.string({ description: `${ISSUED_TO} Only for ON_PREMISE_SETUP, where it is required.` }),
    productId: t.string({ description: `${PRODUCT_ID} Only for ON_PREMISE_SETUP, where it is required.` }),
    periodStart: t.field({ type: 'DateTime', description: 'Only for ON_PREMISE_SETUP. Default: now.' }),
    periodEnd: t.field({ type: 'DateTime', description: 'Only for ON_PREMISE_SETUP.' }),
  }),
});

const TestBrokerInput = builder.inputType('TestBrokerInput', {
  description: 'A connection to a broker outside this service.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    ...addressFields(t),
    clientId: t.string({ description: 'For brokers that admit only known client ids. Default: a new one.' }),
  }),
});

const TestBrokerPayload = builder.objectRef<BrokerTest>('TestBrokerPayload').implement({
  description: 'What a test of a connection found.',
  fields: (t) => ({
    connection: t.expose('connection', {
      description: 'The connection at the end of the test.',
      type: BrokerConnectionStatus,
    }),
    capabilities: t.field({
      description: 'The control APIs that only a broker provides. Empty without a connection.',
      type: [Capability],
      resolve: ({ capabilities }) => [...capabilities],
    }),
    deniedFilters: t.stringList({
      description:
        'Topic filters that the broker does not let this service read: `$SYS/broker/version` for its numbers, `$SYS/broker/log/#` for the clients of a Mosquitto.',
      resolve: ({ deniedFilters }) => [...deniedFilters],
    }),
  }),
});

const insideProject = 'If set, the broker must be in this project.';

const UpdateBrokerInput = builder.inputType('UpdateBrokerInput', {
  description: 'Only the given fields change; null clears a field.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: BROKER_ID }),
    projectId: t.id({ description: insideProject }),
    ...connectionFields(t),
    bindsSessionsToAccounts: t.boolean({ description: BINDS_SESSIONS }),
  }),
});

const DeleteBrokerInput = builder.inputType('DeleteBrokerInput', {
  description: 'The broker to remove. IN_USE if it represents a cluster or is a node of one.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: BROKER_ID }),
    projectId: t.id({ description: insideProject }),
  }),
});

export const brokerPayload = payloadsWith<{ readonly broker: BrokerRecord }>({
  description: 'The broker that was added or changed.',
  fields: (t) => ({ broker: t.expose('broker', { description: 'The broker after the change.', type: Broker }) }),
});
const DeleteBrokerPayload = idPayload(
  'deleteBroker',
  'deletedBrokerId',
  'The broker that was removed.',
  'Id of the removed broker.',
);

builder.mutationFields((t) => ({
  addBroker: t.field({
    description:
      'Adds a self-hosted broker. The service connects to it immediately and reconnects after a connection is lost.',
    type: brokerPayload('addBroker'),
    ...inProject('ADMIN'),
    args: inputArgument(AddBrokerInput, 'The broker and its connection.'),
    resolve: async (_root, { input }, { services, viewer }) => {
      const by = { isRootAdmin: viewer?.isRootAdmin === true };
      const { projectId, type, issuedTo, productId, periodStart, periodEnd, ...settings } = input;
      const broker = settingsOf(settings);
      if (type === 'CLOUD') {
        const reason = 'must not be CLOUD: use createCloudBroker for a broker that this service runs';
        throw invalid([{ path: 'input.type', reason }]);
      }
      if (type !== 'ON_PREMISE_SETUP') return { broker: await services.brokers.addSelfHosted(projectId, broker, by) };
      const start = periodStart instanceof Date ? periodStart : new Date();
      const setup = { issuedTo: issuedTo ?? '', productId: productId ?? '', periodStart: start, periodEnd };
      return { broker: await services.brokers.addOnPremiseSetup(projectId, broker, setup, by) };
    },
  }),
  testBroker: t.field({
    description: `Connects like \`addBroker\` would, and reports what the broker lacks. Nothing is stored. A caller may test ${TESTS_PER_MINUTE} times a minute.`,
    type: TestBrokerPayload,
    ...inProject('ADMIN'),
    args: inputArgument(TestBrokerInput, 'The connection to test.'),
    resolve: (_root, { input: { projectId: _, ...settings } }, { services, viewer }) => {
      const { id, isRootAdmin } = requireSignedIn(viewer);
      return services.brokerTests.run(settings, { isRootAdmin }, id);
    },
  }),
  updateBroker: t.field({
    description:
      'Changes the given fields; null clears a field. The service reconnects only if settings of the connection change. Changing the address of a cluster node requires `ADMIN` in projects with `storesClusterPasswords`.',
    type: brokerPayload('updateBroker'),
    ...onBroker('EDITOR'),
    args: inputArgument(UpdateBrokerInput, 'The broker and the changes.'),
    resolve: async (_root, { input: { brokerId, projectId: _, ...change } }, { services, viewer }) => ({
      broker: await services.brokers.update(brokerId, settingsOf(change), {
        isRootAdmin: viewer?.isRootAdmin === true,
        mayControl: mayControl(viewer, services.brokers.visible(brokerId, viewer, 'EDITOR')),
      }),
    }),
  }),
  deleteBroker: t.field({
    description:
      'Removes the broker and closes the connection. A broker that this service runs is stopped, and its data is deleted.',
    type: DeleteBrokerPayload,
    ...onBroker('ADMIN'),
    args: inputArgument(DeleteBrokerInput, 'The broker to remove.'),
    resolve: async (_root, { input }, { services }) => {
      await services.brokers.remove(input.brokerId);
      await services.cloudBrokers.gone(input.brokerId);
      return { deletedBrokerId: input.brokerId };
    },
  }),
}));

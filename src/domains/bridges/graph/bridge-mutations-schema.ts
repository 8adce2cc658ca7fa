import { builder, type InputFields, writesAccessControl, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { mayControl, requireSignedIn, type Viewer } from '../../../platform/auth/viewer.ts';
import { TESTS_PER_MINUTE } from '../../../platform/limits/test-limit.ts';
import { replaceExactNumbers } from '../../../platform/text/exact-number.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { BridgeWrite, BridgeWriter } from '../bridge-service.ts';
import type { BridgeTest } from '../bridge-tests.ts';
import { Bridge, BridgeConnectionStateType } from './bridge-schema.ts';

const configFields = (t: InputFields) => ({
  brokerId: t.id({ description: 'The id of the broker.', required: true }),
  projectId: t.id({ description: 'If given, the broker must be in this project.' }),
  bridgeKey: t.string({ description: 'The key of a bridge of this broker.', required: true }),
  config: t.field({
    description:
      'The whole configuration, as the schema of the bridge describes. `***` keeps a secret if the host it is sent to (for web addresses also the path) and the TLS settings stay the same. Entries of lists are matched by `name`.',
    type: 'JSON',
    required: true,
  }),
});

const UpdateBridgeConfigInput = builder.inputType('UpdateBridgeConfigInput', {
  description: 'The new configuration of a bridge.',
  fields: configFields,
});

const TestBridgeConnectionInput = builder.inputType('TestBridgeConnectionInput', {
  description: 'A configuration of a bridge, and the connection to test.',
  fields: (t) => ({
    ...configFields(t),
    connectionName: t.string({ description: 'The name of a connection of the configuration.', required: true }),
  }),
});

const TestBridgeConnectionPayload = builder.objectRef<BridgeTest>('TestBridgeConnectionPayload').implement({
  description: 'What a test of a connection found.',
  fields: (t) => ({
    state: t.expose('state', {
      description:
        'CONNECTED if nothing failed. UNREACHABLE if no connection was made, or its certificate is not valid. UNAUTHORIZED if the credentials are refused. FAILED if the connection cannot work: a table, a column or a permission is missing, or the endpoint redirects.',
      type: BridgeConnectionStateType,
    }),
    error: t.exposeString('error', {
      description:
        'Why the test failed. Only administrators of the project learn whether the host or the port can be reached. Null if it did not fail.',
      nullable: true,
    }),
    responseStatus: t.exposeInt('responseStatus', {
      description:
        'The status of the response of a webhook to OPTIONS. It may be another one for POST. Null for other kinds, and without a response.',
      nullable: true,
    }),
  }),
});

const UpdateBridgeConfigPayload = builder.objectRef<BridgeWrite>('UpdateBridgeConfigPayload').implement({
  ...withBroker,
  description: 'The result of a change of a bridge.',
  fields: (t) => ({
    bridge: t.field({
      description: 'The bridge after the change; null if the broker no longer has it.',
      type: Bridge,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: ({ readBridge }) => readBridge(),
    }),
    broker: t.field({ description: 'The broker of the bridge.', type: Broker, resolve: ({ broker }) => broker }),
  }),
});

const writerOf = (viewer: Viewer | null, broker: BrokerRecord): BridgeWriter => ({
  mayControl: mayControl(viewer, broker),
  isRootAdmin: viewer?.isRootAdmin === true,
});

builder.mutationFields((t) => ({
  updateBridgeConfig: t.field({
    description:
      'Replaces the configuration of a bridge. Responds when it is stored; the subscription `bridgeStatus` reports how its connections start. Unchanged connections continue undisturbed. INVALID lists all issues, with JSON pointers into the configuration as paths.',
    type: UpdateBridgeConfigPayload,
    ...writesAccessControl,
    args: inputArgument(UpdateBridgeConfigInput, 'The bridge, and its new configuration.'),
    resolve: (_root, { input: { brokerId, bridgeKey, config } }, { services, viewer }) => {
      const broker = services.brokers.visible(brokerId, viewer);
      return services.bridges.update(broker, bridgeKey, replaceExactNumbers(config), writerOf(viewer, broker));
    },
  }),
  testBridgeConnection: t.field({
    description: `Connects to the other side of a connection like the bridge would, also if it is not active, and changes nothing there. MQTT: it logs in, with another client id if a stored connection has the same. PostgreSQL: it logs in, and has the server plan each statement in a read-only transaction; it creates no table. Webhook: it sends one OPTIONS request with the headers, and neither a message nor a signature. Nothing is stored. Only for bridges that this service runs, otherwise NOT_SUPPORTED_BY_BROKER. INVALID as for \`updateBridgeConfig\`. A caller may test ${TESTS_PER_MINUTE} times a minute, together with \`testBroker\`.`,
    type: TestBridgeConnectionPayload,
    ...writesOnBroker,
    args: inputArgument(TestBridgeConnectionInput, 'The configuration, and the connection to test.'),
    resolve: (_root, { input: { brokerId, config, ...input } }, { services, viewer }) => {
      const { id } = requireSignedIn(viewer);
      const broker = services.brokers.visible(brokerId, viewer);
      const test = { ...input, config: replaceExactNumbers(config) };
      return services.bridgeTests.run(broker, test, writerOf(viewer, broker), id);
    },
  }),
}));

builder.objectFields(Bridge, (t) => ({
  viewerCanUpdate: t.boolean(
    viewerCan('Mutation.updateBridgeConfig', 'change the configuration of the bridge', ({ broker }) =>
      ofBroker(broker),
    ),
  ),
}));

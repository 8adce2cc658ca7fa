import { builder, inProject, onBroker, requires } from '../../gateway/graphql/builder.ts';
import { BROKER_TYPE_NAMES, findsNode, Node } from '../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../gateway/graphql/page-cost.ts';
import { belongsToBroker, withBroker } from '../../gateway/graphql/type-scopes.ts';
import { ofBroker, ofProject, viewerCan } from '../../gateway/graphql/viewer-can.ts';
import { listConnection } from '../../gateway/paging.ts';
import { mayControl } from '../../platform/auth/viewer.ts';
import { invalid } from '../../platform/errors.ts';
import type { ControlCapability } from '../../protocol/control/plugin.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import { Project, RestProjectSettings } from '../projects/project-schema.ts';
import type { BrokerRecord } from './broker-cache.ts';
import { type Engine, isEngine } from './broker-engine.ts';
import type { BrokerInfoData } from './broker-runtimes.ts';
import type { LicenseInformation } from './license.ts';
import type { SysTopicsSample } from './sys-topics.ts';

const BROKER_TYPES = {
  CLOUD: { description: 'A broker that this service runs.' },
  SELF_HOSTED: { description: 'A broker outside this service, reached by its URL.' },
  ON_PREMISE_SETUP: { description: 'An on-premise installation that belongs to a product.' },
} as const;

const BrokerType = builder.enumType('BrokerType', { description: 'Where a broker runs.', values: BROKER_TYPES });

export const ClusterMode = builder.enumType('ClusterMode', {
  description: 'What the nodes of a cluster share.',
  values: {
    FULL: {
      description:
        'Access control, sessions, retained messages and all published messages. Clients connect to the leader. Requires at least three nodes with the control API cedalo/ha.',
    },
    DYNSEC: {
      description:
        'Access control: accounts, groups, roles and rules. Clients of different nodes do not exchange messages. Requires at least two nodes with dynamic security.',
    },
    HP: { description: 'The same as FULL, but each node has its own topic tree.' },
  } as const,
});

const NO_SALES = 'this service has no sales.';

export const CloudBrokerState = builder.enumType('CloudBrokerState', {
  description: 'The state of a broker that this service runs.',
  values: {
    ACTIVE: { description: 'The broker runs.' },
    INACTIVE: { description: 'The broker is stopped.' },
    NEW: { description: 'The broker was created and has not been started yet.' },
    PROVISIONING: { description: 'The broker is being started.' },
    UPDATING: { description: 'The broker is being restarted.' },
    ERROR: { description: 'The broker failed: see `problem`. The service retries with an increasing delay.' },
    STOPPING_PAYMENT: { description: `Not used: ${NO_SALES}` },
    PAYMENT_STOPPED: { description: `Not used: ${NO_SALES}` },
    SHUTTING_DOWN: { description: 'The broker is being stopped.' },
  } as const,
});

export const CloudBrokerTargetState = builder.enumType('CloudBrokerTargetState', {
  description: 'The state that an editor requested for a broker that this service runs.',
  values: {
    ACTIVE: { description: 'The service runs the broker and restarts it after a failure.' },
    INACTIVE: { description: 'The service stops the broker. Its data remains.' },
  } as const,
});

export const CloudBrokerEngine = builder.enumType('CloudBrokerEngine', {
  description: 'The software of a broker that this service runs.',
  values: {
    EMBEDDED: { value: 'embedded' as Engine, description: 'A broker in a worker thread of this service.' },
    MOSQUITTO: {
      value: 'mosquitto' as Engine,
      description: 'A Mosquitto process of this service. Requires an installed Mosquitto.',
    },
  },
});

const ConnectionState = builder.enumType('BrokerConnectionState', {
  description: 'The state of this service’s connection to a broker.',
  values: {
    CONNECTING: { description: 'The first attempt to connect, also after a change of settings.' },
    CONNECTED: { description: 'The broker accepted the connection.' },
    UNAUTHORISED: { description: 'The broker refuses the credentials.' },
    UNREACHABLE: { description: 'The connection failed or was lost. The service reconnects.' },
    CLOSED: { description: 'The service does not connect to the broker.' },
  } as const,
});

export const BrokerConnectionStatus = builder.objectRef<LinkStatus>('BrokerConnectionStatus').implement({
  description: 'This service’s connection to a broker.',
  fields: (t) => ({
    state: t.expose('state', { description: 'The current state.', type: ConnectionState }),
    since: t.expose('since', { description: 'Time of the last change of the state.', type: 'DateTime' }),
    lastError: t.string({
      description: 'Why the service is not connected. Null while it is connected, or if there was no failure.',
      nullable: true,
      resolve: ({ lastError }) => lastError ?? null,
    }),
  }),
});

export const ControlProvider = builder.enumType('ControlProvider', {
  description: 'The component that executes the commands of a control API of a broker.',
  values: {
    BROKER: { description: 'The broker itself.' },
    GATEWAY: { description: 'A plugin of this service. If it is limited, the reason names the limits and the remedy.' },
    NONE: { description: 'The API is not available. The reason names the remedy.' },
  } as const,
});

const Capability = builder.objectRef<ControlCapability>('BrokerCapability').implement({
  description: 'The provider of a control API of a broker.',
  fields: (t) => ({
    api: t.exposeString('api', {
      description: 'Name of the control API: the levels between `$CONTROL/` and `/v1`, such as `cedalo/inspect`.',
    }),
    provider: t.expose('provider', { description: 'The component that executes the commands.', type: ControlProvider }),
    since: t.field({
      description: 'Time at which the service determined the provider.',
      type: 'DateTime',
      resolve: ({ since }) => new Date(since),
    }),
    reason: t.string({
      description: 'Why the API is limited or not available, and the remedy. Null if it is completely available.',
      nullable: true,
      resolve: ({ reason }) => reason ?? null,
    }),
  }),
});

const License = builder.objectRef<LicenseInformation>('License').implement({
  description: 'The licence of a broker, as the broker reports it. A text that the broker does not report is empty.',
  fields: (t) => ({
    plan: t.exposeString('plan', {
      description: 'Plan of the licence. Default: `edition`. `open-source` for brokers without a licence.',
    }),
    edition: t.exposeString('edition', {
      description: 'Edition of the broker software. `mosquitto` for brokers without a licence.',
    }),
    issuedBy: t.exposeString('issuedBy', { description: 'Issuer of the licence.' }),
    issuedTo: t.exposeString('issuedTo', { description: 'Licensee: the customer that received the licence.' }),
    validSince: t.exposeFloat('validSince', { description: 'Epoch milliseconds. 0 if the broker reports none.' }),
    validUntil: t.exposeFloat('validUntil', {
      description: 'Epoch milliseconds. 253402300799999 (the end of the year 9999) if the licence does not expire.',
    }),
    features: t.stringList({ description: 'All available features.', resolve: ({ features }) => [...features] }),
  }),
});

const SysTopics = builder.objectRef<SysTopicsSample>('SysTopics').implement({
  description: 'The values that a broker published below $SYS.',
  fields: (t) => ({
    topics: t.expose('topics', { type: 'JSON', description: 'Nested by topic level; values are text.' }),
    date: t.exposeFloat('date', { description: 'Epoch milliseconds of the last change.' }),
  }),
});

const BROKER_ID = 'Id of the broker: `brk_…`.';
const NAME = 'Name of the broker: 1 to 200 characters. It need not be unique.';
const PROJECT_ID = 'Id of the project to which the broker belongs.';
const URL_OR_NULL = 'URL of the broker. Null for an installation without an address.';
export const IS_CONNECTED = 'Whether this service is connected to the broker now.';

const BrokerInfo = builder.objectRef<BrokerInfoData>('BrokerInfo').implement({
  ...withBroker,
  description: 'Information that a broker publishes about itself; the last known values while it is down.',
  fields: (t) => ({
    brokerId: t.id({ description: 'The id of the broker.', resolve: ({ broker }) => broker.id }),
    url: t.string({ description: URL_OR_NULL, nullable: true, resolve: ({ broker }) => broker.url }),
    name: t.string({ description: NAME, resolve: ({ broker }) => broker.name }),
    projectId: t.id({ description: PROJECT_ID, resolve: ({ broker }) => broker.projectId }),
    isConnected: t.exposeBoolean('isConnected', { description: IS_CONNECTED }),
    sysTopics: t.expose('sysTopics', { description: 'The last values below $SYS.', type: SysTopics }),
    sysTopicsHistory: t.expose('sysTopicsHistory', {
      description: 'Samples of the values below $SYS, oldest first: at most 60, at most one in nine seconds.',
      type: [SysTopics],
    }),
    license: t.expose('license', {
      description: 'While the broker is unreachable: the last known one. Null if none is known.',
      type: License,
      nullable: true,
    }),
  }),
});

const CLUSTER_MODE = 'What the nodes share, if the broker represents a cluster; otherwise null.';
const METRICS_ENABLED =
  'A setting that the REST interface documents. Default: true. The service records metrics of each broker regardless of it.';
const CLIENT_TAKEOVER =
  'Whether this service may take over the session of a client for a moment, to disconnect, subscribe or unsubscribe a single client of a plain Mosquitto. This ends the connection of the client. QoS 0 messages that arrive meanwhile are lost, and queued messages that the user of this service may not receive.';

export const Broker = builder.interfaceRef<BrokerRecord>('Broker');
Broker.implement({
  description:
    'An MQTT broker of a project. While the broker is unreachable, fields that it serves itself are null, with an error.',
  ...belongsToBroker((broker: BrokerRecord) => broker),
  interfaces: [Node],
  resolveType: ({ type }) => BROKER_TYPE_NAMES[type],
  fields: (t) => ({
    type: t.expose('type', { description: 'Where the broker runs.', type: BrokerType }),
    name: t.exposeString('name', { description: NAME }),
    description: t.exposeString('description', {
      description: 'Text for users, at most 4,000 characters. Null if there is none.',
      nullable: true,
    }),
    projectId: t.exposeID('projectId', { description: PROJECT_ID }),
    project: t.field({
      description: 'The project to which the broker belongs.',
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    url: t.exposeString('url', { nullable: true, description: URL_OR_NULL }),
    username: t.exposeString('username', {
      nullable: true,
      description: 'The user name with which this service connects to the broker.',
    }),
    verifyCaCert: t.exposeBoolean('verifyCaCert', {
      description: 'Whether the service verifies the TLS certificate of the broker. Default: true.',
    }),
    metricsEnabled: t.exposeBoolean('metricsEnabled', { description: METRICS_ENABLED }),
    ha: t.exposeBoolean('ha', { description: 'Whether the broker represents a cluster.' }),
    clusterMode: t.expose('clusterMode', { description: CLUSTER_MODE, type: ClusterMode, nullable: true }),
    clientTakeover: t.exposeBoolean('clientTakeover', { description: CLIENT_TAKEOVER }),
    createdAt: t.expose('createdAt', { description: 'Time at which the broker was added.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'Time of the last change of the settings.', type: 'DateTime' }),
    isConnected: t.boolean({
      description: IS_CONNECTED,
      resolve: ({ id }, _args, { services }) => services.runtimes.isConnected(id),
    }),
    connection: t.field({
      description: 'This service’s connection to the broker. If the broker represents a cluster: to one of its nodes.',
      type: BrokerConnectionStatus,
      resolve: ({ id }, _args, { services }) => services.runtimes.status(id),
    }),
    info: t.field({
      description: 'Waits for the first attempt to connect, at most for the timeout per broker.',
      type: BrokerInfo,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (broker, _args, { services }) => services.runtimes.info(broker),
    }),
    license: t.field({
      description: 'The licence of the broker. If the broker represents a cluster, that of the node in `clusterNode`.',
      type: License,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (broker, _args, { services }) => services.runtimes.license(broker),
    }),
    capabilities: t.field({
      description: 'The provider of each control API of this broker.',
      type: [Capability],
      nullable: true,
      complexity: 10,
      resolve: (broker, _args, { services }) => services.runtimes.capabilities(broker),
    }),
  }),
});

findsNode('broker', (id, { services, viewer }) => services.brokers.visible(id, viewer));

builder.objectRef<BrokerRecord>('SelfHostedBroker').implement({
  ...BROKER_TYPES.SELF_HOSTED,
  interfaces: [Broker, Node],
});

type BrokerFields = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], BrokerRecord>;

const ISSUED_TO = 'The customer that uses the broker: at most 200 characters.';
const PRODUCT_ID = 'Id of the product: at most 200 characters.';

const productFields = (t: BrokerFields) => ({
  issuedTo: t.string({ description: ISSUED_TO, resolve: ({ issuedTo }) => issuedTo ?? '' }),
  productId: t.string({ description: PRODUCT_ID, resolve: ({ productId }) => productId ?? '' }),
  periodStart: t.field({
    description: 'Start of the period of use. Default: the time of creation.',
    type: 'DateTime',
    resolve: ({ periodStart, createdAt }) => periodStart ?? createdAt,
  }),
  periodEnd: t.expose('periodEnd', {
    description: 'End of the period of use. Null if the period has no end.',
    type: 'DateTime',
    nullable: true,
  }),
  canceledAt: t.expose('canceledAt', {
    description: `Time of the cancellation. Always null: ${NO_SALES}`,
    type: 'DateTime',
    nullable: true,
  }),
  paymentSubscriptionItemId: t.exposeString('paymentSubscriptionItemId', {
    description: `Id of the paid item. Always null: ${NO_SALES}`,
    nullable: true,
  }),
});

builder.objectRef<BrokerRecord>('OnPremiseSetup').implement({
  ...BROKER_TYPES.ON_PREMISE_SETUP,
  interfaces: [Broker, Node],
  fields: (t) => productFields(t),
});

export const CloudBroker = builder.objectRef<BrokerRecord>('CloudBroker');
CloudBroker.implement({
  ...BROKER_TYPES.CLOUD,
  interfaces: [Broker, Node],
  fields: (t) => ({
    ...productFields(t),
    options: t.string({ description: 'JSON text.', resolve: ({ options }) => options ?? '{}' }),
    subdomain: t.string({
      description:
        'First label of the DNS name that the REST interface documents. Always `localhost`: the address is in `url`.',
      resolve: ({ subdomain }) => subdomain ?? '',
    }),
    zoneName: t.string({
      description: 'DNS zone that the REST interface documents. Always `local`: the address is in `url`.',
      resolve: ({ zoneName }) => zoneName ?? '',
    }),
    deployedAt: t.expose('deployedAt', {
      description: 'Time of the last start. Null before the first start.',
      type: 'DateTime',
      nullable: true,
    }),
    shutdownAt: t.expose('shutdownAt', {
      description: 'Time of the last stop. Null if the broker was started since or was never stopped.',
      type: 'DateTime',
      nullable: true,
    }),
    location: t.string({
      description: 'Region code: fsn1, nbg1, hel1, ash or hil.',
      resolve: ({ location }) => location ?? 'fsn1',
    }),
    state: t.field({
      description: 'The current state.',
      type: CloudBrokerState,
      resolve: ({ state }) => state ?? 'NEW',
    }),
    targetState: t.field({
      description: 'The requested state. `setTargetState` changes it.',
      type: CloudBrokerTargetState,
      resolve: ({ targetState }) => targetState ?? 'ACTIVE',
    }),
    engine: t.field({
      description: 'The software of the broker.',
      type: CloudBrokerEngine,
      resolve: ({ engine }) => (isEngine(engine) ? engine : 'embedded'),
    }),
  }),
});

builder.prismaObjectFields(Project, (t) => ({
  brokers: t.connection(
    {
      description: 'The brokers of the project in the order of creation.',
      type: Broker,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Number of brokers to skip.' }) },
      resolve: ({ id }, args, { services, viewer }) => listConnection(services.brokers.visibleIn(id, viewer), args),
    },
    {
      name: 'BrokerConnection',
      description: 'A page of brokers.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', {
          description: 'Number of brokers that the caller may see, on all pages.',
        }),
      }),
    },
    { name: 'BrokerEdge' },
  ),
  broker: t.field({
    description: 'A broker of the project. NOT_FOUND for a broker of another project.',
    type: Broker,
    nullable: true,
    args: { id: t.arg.id({ description: BROKER_ID, required: true }) },
    resolve: (project, { id }, { services, viewer }) => services.brokers.visible(id, viewer, 'VIEWER', project.id),
  }),
}));

builder.prismaObjectFields(Project, (t) => ({
  viewerCanAddBrokers: t.boolean(viewerCan('Mutation.addBroker', 'add brokers', ofProject)),
}));

builder.interfaceFields(Broker, (t) => ({
  viewerCanUpdate: t.boolean(viewerCan('Mutation.updateBroker', 'change the settings of the broker', ofBroker)),
  viewerCanDelete: t.boolean(viewerCan('Mutation.deleteBroker', 'remove the broker', ofBroker)),
}));

builder.objectFields(RestProjectSettings, (t) => ({
  brokers: t.field({
    description: 'All brokers of the project in the order of creation.',
    type: [Broker],
    resolve: ({ id }, _args, { services, viewer }) => [...services.brokers.visibleIn(id, viewer)],
  }),
}));

builder.queryFields((t) => ({
  broker: t.field({
    description: 'Null, with NOT_FOUND, if there is no such broker or the caller may not see it.',
    type: Broker,
    nullable: true,
    args: { id: t.arg.id({ description: BROKER_ID, required: true }) },
    ...requires('VIEWER', { elsewhere: 'NOT_FOUND' }),
    resolve: (_root, { id }, { services, viewer }) => services.brokers.visible(id, viewer),
  }),
}));

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

const FILE = 'A file in the folder BROKER_FILES_DIR of the service.';

const connectionFields = (t: InputFields) => ({
  name: t.string({ description: '1 to 200 characters. Default for a new broker: host and port of the URL.' }),
  description: t.string({ description: 'Text for users, at most 4,000 characters. Default: none.' }),
  url: t.string({ description: 'mqtt://, mqtts://, ws:// or wss://, without credentials.' }),
  username: t.string({ description: 'The user name for the connection.' }),
  password: t.string({ description: 'Stored encrypted, never returned.' }),
  caCert: t.string({ description: 'PEM of the authority that signed the broker’s certificate.' }),
  caCertFile: t.string({ description: FILE }),
  clientCert: t.string({ description: 'PEM, for brokers that require a client certificate.' }),
  clientCertFile: t.string({ description: FILE }),
  clientKey: t.string({ description: 'PEM. Stored encrypted, never returned.' }),
  clientKeyFile: t.string({ description: FILE }),
  verifyCaCert: t.boolean({ description: 'false accepts any certificate of the broker.' }),
  metricsEnabled: t.boolean({ description: METRICS_ENABLED }),
  ha: t.boolean({ description: 'Whether the broker represents a cluster.' }),
  clusterMode: t.field({ type: ClusterMode, description: CLUSTER_MODE }),
  clientTakeover: t.boolean({ description: CLIENT_TAKEOVER }),
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

const insideProject = 'If set, the broker must be in this project.';

const UpdateBrokerInput = builder.inputType('UpdateBrokerInput', {
  description: 'Only the given fields change; null clears a field.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: BROKER_ID }),
    projectId: t.id({ description: insideProject }),
    ...connectionFields(t),
  }),
});

const DeleteBrokerInput = builder.inputType('DeleteBrokerInput', {
  description: 'The broker to remove. IN_USE if it represents a cluster or is a node of one.',
  fields: (t) => ({
    brokerId: t.id({ required: true, description: BROKER_ID }),
    projectId: t.id({ description: insideProject }),
  }),
});

export const BrokerPayload = builder.objectRef<{ readonly broker: BrokerRecord }>('BrokerPayload').implement({
  description: 'The broker that was added or changed.',
  fields: (t) => ({ broker: t.expose('broker', { description: 'The broker after the change.', type: Broker }) }),
});
const DeleteBrokerPayload = builder.objectRef<{ readonly deletedBrokerId: string }>('DeleteBrokerPayload').implement({
  description: 'The broker that was removed.',
  fields: (t) => ({ deletedBrokerId: t.exposeID('deletedBrokerId', { description: 'Id of the removed broker.' }) }),
});

builder.mutationFields((t) => ({
  addBroker: t.field({
    description:
      'Adds a self-hosted broker. The service connects to it immediately and reconnects after a connection is lost.',
    type: BrokerPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: AddBrokerInput, required: true, description: 'The broker and its connection.' }) },
    resolve: async (_root, { input }, { services, viewer }) => {
      const by = { isRootAdmin: viewer?.isRootAdmin === true };
      const { projectId, type, issuedTo, productId, periodStart, periodEnd, ...broker } = input;
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
  updateBroker: t.field({
    description:
      'Changes the given fields; null clears a field. The service reconnects only if settings of the connection change. Changing the address of a cluster node requires `ADMIN` in projects with `clusterPasswords`.',
    type: BrokerPayload,
    ...onBroker('EDITOR'),
    args: { input: t.arg({ type: UpdateBrokerInput, required: true, description: 'The broker and the changes.' }) },
    resolve: async (_root, { input: { brokerId, projectId: _, ...change } }, { services, viewer }) => ({
      broker: await services.brokers.update(brokerId, change, {
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
    args: { input: t.arg({ type: DeleteBrokerInput, required: true, description: 'The broker to remove.' }) },
    resolve: async (_root, { input }, { services }) => {
      await services.brokers.remove(input.brokerId);
      await services.cloudBrokers.gone(input.brokerId);
      return { deletedBrokerId: input.brokerId };
    },
  }),
}));

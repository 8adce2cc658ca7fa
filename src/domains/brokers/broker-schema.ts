import { builder, inProject, onBroker, requires } from '../../gateway/graphql/builder.ts';
import { BROKER_TYPE_NAMES, Node } from '../../gateway/graphql/node.ts';
import { pageCost, QUESTION_COST } from '../../gateway/graphql/page-cost.ts';
import { listConnection } from '../../gateway/paging.ts';
import { mayControl } from '../../platform/auth/viewer.ts';
import { invalid } from '../../platform/errors.ts';
import type { ControlCapability } from '../../protocol/control/plugin.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import { Project, ProjectSettings } from '../projects/project-schema.ts';
import type { BrokerRecord } from './broker-cache.ts';
import { type Engine, isEngine } from './broker-engine.ts';
import type { BrokerInfoData } from './broker-runtimes.ts';
import type { LicenseInformation } from './license-control.ts';
import type { SysTopicsSample } from './sys-topics.ts';

export const BrokerType = builder.enumType('BrokerType', {
  values: {
    CLOUD: { description: 'Run by this service.' },
    SELF_HOSTED: { description: 'Run by somebody else, connected to by its URL.' },
    ON_PREMISE_SETUP: { description: 'An installation on own premises under a product.' },
  } as const,
});

export const ClusterMode = builder.enumType('ClusterMode', { values: ['FULL', 'DYNSEC', 'HP'] as const });

export const CloudBrokerState = builder.enumType('CloudBrokerState', {
  values: [
    'ACTIVE',
    'INACTIVE',
    'NEW',
    'PROVISIONING',
    'UPDATING',
    'ERROR',
    'STOPPING_PAYMENT',
    'PAYMENT_STOPPED',
    'SHUTTING_DOWN',
  ] as const,
});

export const CloudBrokerTargetState = builder.enumType('CloudBrokerTargetState', {
  values: ['ACTIVE', 'INACTIVE'] as const,
});

export const CloudBrokerEngine = builder.enumType('CloudBrokerEngine', {
  description: 'What a broker of this service runs on.',
  values: {
    EMBEDDED: { value: 'embedded' as Engine, description: 'Runs within this service, in a thread of its own.' },
    MOSQUITTO: {
      value: 'mosquitto' as Engine,
      description: 'A Mosquitto process of this service, where Mosquitto is installed.',
    },
  },
});

const ConnectionState = builder.enumType('BrokerConnectionState', {
  values: {
    CONNECTING: { description: 'The first attempt, or one after a change of settings.' },
    CONNECTED: {},
    UNAUTHORISED: { description: 'The broker refuses the credentials.' },
    UNREACHABLE: { description: 'No connection could be made, or the last one was lost; attempts go on.' },
    CLOSED: { description: 'No connection is wanted.' },
  } as const,
});

export const BrokerConnectionStatus = builder.objectRef<LinkStatus>('BrokerConnectionStatus').implement({
  description: 'This service’s connection to a broker.',
  fields: (t) => ({
    state: t.expose('state', { type: ConnectionState }),
    since: t.field({ type: 'DateTime', resolve: ({ since }) => new Date(since) }),
    lastError: t.string({ nullable: true, resolve: ({ lastError }) => lastError ?? null }),
  }),
});

export const ControlProvider = builder.enumType('ControlProvider', {
  values: {
    BROKER: { description: 'The broker has the API itself.' },
    GATEWAY: {
      description:
        'This service runs the API beside the broker; a reason says what it cannot do there, and what would help.',
    },
    NONE: { description: 'Nobody does; the reason says what would help.' },
  } as const,
});

const Capability = builder.objectRef<ControlCapability>('BrokerCapability').implement({
  description: 'Who serves a control API of a broker.',
  fields: (t) => ({
    api: t.exposeString('api'),
    provider: t.expose('provider', { type: ControlProvider }),
    since: t.field({ type: 'DateTime', resolve: ({ since }) => new Date(since) }),
    reason: t.string({ nullable: true, resolve: ({ reason }) => reason ?? null }),
  }),
});

const License = builder.objectRef<LicenseInformation>('License').implement({
  fields: (t) => ({
    plan: t.exposeString('plan'),
    edition: t.exposeString('edition'),
    issuedBy: t.exposeString('issuedBy'),
    issuedTo: t.exposeString('issuedTo'),
    validSince: t.exposeFloat('validSince', { description: 'Epoch milliseconds.' }),
    validUntil: t.exposeFloat('validUntil', { description: 'Epoch milliseconds.' }),
    features: t.stringList({ description: 'All available features.', resolve: ({ features }) => [...features] }),
  }),
});

const SysTopics = builder.objectRef<SysTopicsSample>('SysTopics').implement({
  description: 'What the broker published below $SYS.',
  fields: (t) => ({
    topics: t.field({
      type: 'JSON',
      description: 'Nested by topic level; leaves are text.',
      resolve: ({ topics }) => topics,
    }),
    date: t.exposeFloat('date', { description: 'Epoch milliseconds of the last change.' }),
  }),
});

const BrokerInfo = builder.objectRef<BrokerInfoData>('BrokerInfo').implement({
  description: 'What a broker says of itself, with the last it said while it is down.',
  fields: (t) => ({
    id: t.id({ resolve: ({ broker }) => broker.id }),
    url: t.string({ nullable: true, resolve: ({ broker }) => broker.url }),
    name: t.string({ resolve: ({ broker }) => broker.name }),
    projectId: t.id({ resolve: ({ broker }) => broker.projectId }),
    isConnected: t.exposeBoolean('isConnected'),
    sysTopics: t.field({ type: SysTopics, resolve: ({ sysTopics }) => sysTopics }),
    sysTopicsHistory: t.field({ type: [SysTopics], resolve: ({ sysTopicsHistory }) => [...sysTopicsHistory] }),
    license: t.field({
      description: 'Null while the broker cannot be asked.',
      type: License,
      nullable: true,
      resolve: ({ license }) => license,
    }),
  }),
});

const CLIENT_TAKEOVER =
  'To disconnect, subscribe or unsubscribe a single client of a plain Mosquitto, its session may be taken over for a moment. That ends its connection; messages of QoS 0 that come meanwhile are lost, and queued ones that the user of this service may not receive.';

export const Broker = builder.interfaceRef<BrokerRecord>('Broker');
Broker.implement({
  description:
    'An MQTT broker of a project. What the broker itself serves is null, with an error, while it cannot be asked.',
  interfaces: [Node],
  resolveType: ({ type }) => BROKER_TYPE_NAMES[type],
  fields: (t) => ({
    type: t.expose('type', { type: BrokerType }),
    name: t.exposeString('name'),
    description: t.exposeString('description', { nullable: true }),
    projectId: t.exposeID('projectId'),
    project: t.field({
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    url: t.exposeString('url', { nullable: true, description: 'Null for an installation without an address.' }),
    username: t.exposeString('username', { nullable: true, description: 'The user this service connects as.' }),
    verifyCaCert: t.exposeBoolean('verifyCaCert'),
    metricsEnabled: t.exposeBoolean('metricsEnabled'),
    ha: t.exposeBoolean('ha', { description: 'Stands for a cluster.' }),
    clusterMode: t.expose('clusterMode', { type: ClusterMode, nullable: true }),
    clientTakeover: t.exposeBoolean('clientTakeover', { description: CLIENT_TAKEOVER }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    isConnected: t.boolean({ resolve: ({ id }, _args, { services }) => services.runtimes.isConnected(id) }),
    connection: t.field({
      type: BrokerConnectionStatus,
      resolve: ({ id }, _args, { services }) => services.runtimes.status(id),
    }),
    info: t.field({
      description: 'Waits for the first attempt to connect, at most the per-broker deadline.',
      type: BrokerInfo,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (broker, _args, { services }) => services.runtimes.info(broker),
    }),
    license: t.field({
      description: 'Of the entry that stands for a cluster: that of the node by which it is reached (`clusterNode`).',
      type: License,
      nullable: true,
      complexity: QUESTION_COST,
      resolve: (broker, _args, { services }) => services.runtimes.license(broker),
    }),
    capabilities: t.field({
      description: 'Who serves each control API of this broker.',
      type: [Capability],
      nullable: true,
      complexity: 10,
      resolve: (broker, _args, { services }) => services.runtimes.capabilities(broker),
    }),
  }),
});

builder.objectRef<BrokerRecord>('SelfHostedBroker').implement({ interfaces: [Broker, Node] });

type BrokerFields = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], BrokerRecord>;

/** What brokers under a product have in common. */
const productFields = (t: BrokerFields) => ({
  issuedTo: t.string({ resolve: ({ issuedTo }) => issuedTo ?? '' }),
  productId: t.string({ resolve: ({ productId }) => productId ?? '' }),
  periodStart: t.field({ type: 'DateTime', resolve: ({ periodStart, createdAt }) => periodStart ?? createdAt }),
  periodEnd: t.expose('periodEnd', { type: 'DateTime', nullable: true }),
  canceledAt: t.expose('canceledAt', { type: 'DateTime', nullable: true }),
  paymentSubscriptionItemId: t.exposeString('paymentSubscriptionItemId', { nullable: true }),
});

builder.objectRef<BrokerRecord>('OnPremiseSetup').implement({
  interfaces: [Broker, Node],
  fields: (t) => ({
    ...productFields(t),
  }),
});

export const CloudBroker = builder.objectRef<BrokerRecord>('CloudBroker');
CloudBroker.implement({
  description: 'A broker that this service runs.',
  interfaces: [Broker, Node],
  fields: (t) => ({
    ...productFields(t),
    options: t.string({ description: 'JSON text.', resolve: ({ options }) => options ?? '{}' }),
    subdomain: t.string({ resolve: ({ subdomain }) => subdomain ?? '' }),
    zoneName: t.string({ resolve: ({ zoneName }) => zoneName ?? '' }),
    deployedAt: t.expose('deployedAt', { type: 'DateTime', nullable: true }),
    shutdownAt: t.expose('shutdownAt', { type: 'DateTime', nullable: true }),
    location: t.string({
      description: 'Region code: fsn1, nbg1, hel1, ash or hil.',
      resolve: ({ location }) => location ?? 'fsn1',
    }),
    state: t.field({ type: CloudBrokerState, resolve: ({ state }) => state ?? 'NEW' }),
    targetState: t.field({ type: CloudBrokerTargetState, resolve: ({ targetState }) => targetState ?? 'ACTIVE' }),
    engine: t.field({
      description: 'What it runs on.',
      type: CloudBrokerEngine,
      resolve: ({ engine }) => (isEngine(engine) ? engine : 'embedded'),
    }),
  }),
});

builder.objectFields(Project, (t) => ({
  brokers: t.connection(
    {
      description: 'In order of creation.',
      type: Broker,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Entries left out at the start.' }) },
      resolve: ({ id }, args, { services, viewer }) => listConnection(services.brokers.visibleIn(id, viewer), args),
    },
    { name: 'BrokerConnection', fields: (connection) => ({ totalCount: connection.exposeInt('totalCount') }) },
    { name: 'BrokerEdge' },
  ),
  broker: t.field({
    description: 'One of its brokers; an id of another project is NOT_FOUND.',
    type: Broker,
    nullable: true,
    args: { id: t.arg.id({ required: true }) },
    resolve: (project, { id }, { services, viewer }) => services.brokers.visible(id, viewer, 'VIEWER', project.id),
  }),
}));

builder.objectFields(ProjectSettings, (t) => ({
  brokers: t.field({
    description: 'All of them, in order of creation.',
    type: [Broker],
    resolve: ({ id }, _args, { services, viewer }) => [...services.brokers.visibleIn(id, viewer)],
  }),
}));

builder.queryFields((t) => ({
  broker: t.field({
    description: 'Null, with NOT_FOUND, when there is none that the caller sees.',
    type: Broker,
    nullable: true,
    args: { id: t.arg.id({ required: true }) },
    ...requires('VIEWER', { elsewhere: 'NOT_FOUND' }),
    resolve: (_root, { id }, { services, viewer }) => services.brokers.visible(id, viewer),
  }),
}));

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

/** What adding and changing a broker have in common. */
const connectionFields = (t: InputFields) => ({
  name: t.string({ description: 'When adding without it: host and port of the URL.' }),
  description: t.string(),
  url: t.string({ description: 'mqtt://, mqtts://, ws:// or wss://, without credentials.' }),
  username: t.string({ description: 'The user to connect as.' }),
  password: t.string({ description: 'Sealed when stored, never answered.' }),
  caCert: t.string({ description: 'PEM of the authority that signed the broker’s certificate.' }),
  caCertFile: t.string({ description: 'File below the folder that the operator opened for it.' }),
  clientCert: t.string({ description: 'PEM, for brokers that ask for one.' }),
  clientCertFile: t.string({ description: 'File below the folder that the operator opened for it.' }),
  clientKey: t.string({ description: 'PEM. Sealed when stored, never answered.' }),
  clientKeyFile: t.string({ description: 'File below the folder that the operator opened for it.' }),
  verifyCaCert: t.boolean({ description: 'False accepts any certificate of the broker.' }),
  metricsEnabled: t.boolean(),
  ha: t.boolean({ description: 'Stands for a cluster.' }),
  clusterMode: t.field({ type: ClusterMode }),
  clientTakeover: t.boolean({ description: CLIENT_TAKEOVER }),
});

const AddBrokerInput = builder.inputType('AddBrokerInput', {
  fields: (t) => ({
    projectId: t.id({ required: true }),
    type: t.field({ type: BrokerType, defaultValue: 'SELF_HOSTED', description: 'SELF_HOSTED or ON_PREMISE_SETUP.' }),
    ...connectionFields(t),
    issuedTo: t.string({ description: 'ON_PREMISE_SETUP only, needed there.' }),
    productId: t.string({ description: 'ON_PREMISE_SETUP only, needed there.' }),
    periodStart: t.field({ type: 'DateTime', description: 'ON_PREMISE_SETUP only. Without it: now.' }),
    periodEnd: t.field({ type: 'DateTime', description: 'ON_PREMISE_SETUP only.' }),
  }),
});

const insideProject = 'When given, the broker must be in this project.';

const UpdateBrokerInput = builder.inputType('UpdateBrokerInput', {
  description: 'Only what is given changes; null clears.',
  fields: (t) => ({
    brokerId: t.id({ required: true }),
    projectId: t.id({ description: insideProject }),
    ...connectionFields(t),
  }),
});

const DeleteBrokerInput = builder.inputType('DeleteBrokerInput', {
  fields: (t) => ({ brokerId: t.id({ required: true }), projectId: t.id({ description: insideProject }) }),
});

export const BrokerPayload = builder.objectRef<{ readonly broker: BrokerRecord }>('BrokerPayload').implement({
  fields: (t) => ({ broker: t.field({ type: Broker, resolve: ({ broker }) => broker }) }),
});
const DeleteBrokerPayload = builder
  .objectRef<{ readonly deletedBrokerId: string }>('DeleteBrokerPayload')
  .implement({ fields: (t) => ({ deletedBrokerId: t.exposeID('deletedBrokerId') }) });

builder.mutationFields((t) => ({
  addBroker: t.field({
    description: 'Adds a broker that somebody else runs. It is connected to at once, and whenever it is away.',
    type: BrokerPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: AddBrokerInput, required: true }) },
    resolve: async (_root, { input }, { services, viewer }) => {
      const by = { isRootAdmin: viewer?.isRootAdmin === true };
      const { projectId, type, issuedTo, productId, periodStart, periodEnd, ...broker } = input;
      if (type === 'CLOUD') {
        throw invalid([
          { path: 'input.type', reason: 'a CLOUD broker is run by this service and cannot be added by its URL' },
        ]);
      }
      if (type !== 'ON_PREMISE_SETUP') return { broker: await services.brokers.addSelfHosted(projectId, broker, by) };
      const start = periodStart instanceof Date ? periodStart : new Date();
      const setup = { issuedTo: issuedTo ?? '', productId: productId ?? '', periodStart: start, periodEnd };
      return { broker: await services.brokers.addOnPremiseSetup(projectId, broker, setup, by) };
    },
  }),
  updateBroker: t.field({
    description:
      'Changes what is given; null clears. The connection is made anew only where its settings became different. The address of a node of a cluster requires `ADMIN` in projects with `clusterPasswords`.',
    type: BrokerPayload,
    ...onBroker('EDITOR'),
    args: { input: t.arg({ type: UpdateBrokerInput, required: true }) },
    resolve: async (_root, { input: { brokerId, projectId: _, ...change } }, { services, viewer }) => ({
      broker: await services.brokers.update(brokerId, change, {
        isRootAdmin: viewer?.isRootAdmin === true,
        mayControl: mayControl(viewer, services.brokers.visible(brokerId, viewer, 'EDITOR')),
      }),
    }),
  }),
  deleteBroker: t.field({
    description:
      'Removes the entry and ends the connection; a broker that this service runs is stopped, and all that it kept is erased.',
    type: DeleteBrokerPayload,
    ...onBroker('ADMIN'),
    args: { input: t.arg({ type: DeleteBrokerInput, required: true }) },
    resolve: async (_root, { input }, { services }) => {
      await services.brokers.remove(input.brokerId);
      await services.cloudBrokers.gone(input.brokerId);
      return { deletedBrokerId: input.brokerId };
    },
  }),
}));

import { builder, type OutputFields, requires } from '../../gateway/graphql/builder.ts';
import { BROKER_TYPE_NAMES, findsNode, Node } from '../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST } from '../../gateway/graphql/page-cost.ts';
import { belongsToBroker } from '../../gateway/graphql/type-scopes.ts';
import { ofBroker, ofProject, viewerCan } from '../../gateway/graphql/viewer-can.ts';
import { isEngine } from '../../protocol/hosting/broker-engine.ts';
import { AuditEvent } from '../audit/audit-schema.ts';
import { Project, RestProjectSettings } from '../projects/project-schema.ts';
import type { BrokerRecord } from './broker-cache.ts';
import {
  BINDS_SESSIONS,
  BROKER_ID,
  BROKER_NAME,
  CLIENT_TAKEOVER,
  CLUSTER_MODE,
  IS_CONNECTED,
  ISSUED_TO,
  METRICS_ENABLED,
  PRODUCT_ID,
  PROJECT_ID,
  URL_OR_NULL,
} from './broker-descriptions.ts';
import {
  BrokerConnectionStatus,
  BrokerPluginType,
  Capability,
  License,
  RestBrokerInfo,
  SysTopics,
  statusFor,
} from './broker-info-schema.ts';
import {
  BROKER_TYPES,
  BrokerType,
  CloudBrokerEngine,
  CloudBrokerState,
  CloudBrokerTargetState,
  ClusterMode,
  cloudStateOf,
  NO_SALES,
} from './broker-types-schema.ts';

export const Broker = builder.interfaceRef<BrokerRecord>('Broker');
Broker.implement({
  description:
    'An MQTT broker of a project. While the broker is unreachable, fields that it serves itself are null, with an error.',
  ...belongsToBroker((broker: BrokerRecord) => broker),
  interfaces: [Node],
  resolveType: ({ type }) => BROKER_TYPE_NAMES[type],
  fields: (t) => ({
    type: t.expose('type', { description: 'Where the broker runs.', type: BrokerType }),
    name: t.exposeString('name', { description: BROKER_NAME }),
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
    isCluster: t.exposeBoolean('ha', { description: 'Whether the broker represents a cluster.' }),
    clusterMode: t.expose('clusterMode', { description: CLUSTER_MODE, type: ClusterMode, nullable: true }),
    allowsClientTakeover: t.exposeBoolean('clientTakeover', { description: CLIENT_TAKEOVER }),
    createdAt: t.expose('createdAt', { description: 'Time at which the broker was added.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'Time of the last change of the settings.', type: 'DateTime' }),
    isConnected: t.boolean({
      description: IS_CONNECTED,
      resolve: ({ id }, _args, { services }) => services.runtimes.isConnected(id),
    }),
    connection: t.field({
      description: 'This service’s connection to the broker. If the broker represents a cluster: to one of its nodes.',
      type: BrokerConnectionStatus,
      resolve: (broker, _args, { services, viewer }) => statusFor(viewer, broker, services.runtimes.status(broker.id)),
    }),
    sysTopics: t.field({
      description:
        'The last values below $SYS, except the log, also while the broker is unreachable. Null if this service does not connect to it.',
      type: SysTopics,
      nullable: true,
      complexity: 10,
      resolve: ({ id }, _args, { services }) => services.runtimes.sysTopics(id)?.current() ?? null,
    }),
    sysTopicsHistory: t.field({
      description: 'Samples of the values below $SYS, oldest first: at most 60, at most one in nine seconds.',
      type: [SysTopics],
      resolve: ({ id }, _args, { services }) => [...(services.runtimes.sysTopics(id)?.history() ?? [])],
    }),
    restInfo: t.field({
      description: 'Internal: for the REST interface. Tries to connect, at most for the timeout per broker.',
      type: RestBrokerInfo,
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
    plugins: t.field({
      description:
        'Plugins of the broker that have a name, as the broker reports them now. For a broker of this service: the plugins, or the built-in control APIs of the embedded broker. NOT_SUPPORTED_BY_BROKER, with the reason, if the broker does not report them: Mosquitto 2.0 does not, and Mosquitto 2.1 requires `enable_control_api true`. The capability `broker` has the source.',
      type: [BrokerPluginType],
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (broker, _args, { services }) => services.runtimes.plugins(broker),
    }),
  }),
});

findsNode('broker', (id, { services, viewer }) => services.brokers.visible(id, viewer));

builder.objectRef<BrokerRecord>('SelfHostedBroker').implement({
  ...BROKER_TYPES.SELF_HOSTED,
  interfaces: [Broker, Node],
});

const productFields = (t: OutputFields<BrokerRecord>) => ({
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
    bindsSessionsToAccounts: t.exposeBoolean('boundSessions', { description: BINDS_SESSIONS }),
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
      resolve: (broker, _args, { services }) => cloudStateOf(services.cloudBrokers.stateOf(broker)),
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

builder.prismaObjectFields(AuditEvent, (t) => ({
  broker: t.field({
    type: Broker,
    nullable: true,
    description: 'The broker of the target. Null if there is none, or if it was deleted.',
    select: { brokerId: true },
    resolve: ({ brokerId }, _args, { services, viewer }) =>
      brokerId === null ? null : services.brokers.seen(brokerId, viewer),
  }),
}));

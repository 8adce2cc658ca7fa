import { builder } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { knownTimeField, timeField } from '../../gateway/graphql/time-field.ts';
import { withBroker } from '../../gateway/graphql/type-scopes.ts';
import { seesBroker, type Viewer } from '../../platform/auth/viewer.ts';
import { type LicenseInformation, NO_END, NO_START } from '../../protocol/apis/license.ts';
import type { BrokerPlugin } from '../../protocol/control/broker-plugins.ts';
import type { ControlCapability } from '../../protocol/control/plugin.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import { withoutReachability } from '../../protocol/mqtt/link-failure.ts';
import type { BrokerRecord } from './broker-cache.ts';
import { BROKER_NAME, IS_CONNECTED, PROJECT_ID, URL_OR_NULL } from './broker-descriptions.ts';
import type { BrokerInfoData } from './broker-runtimes.ts';
import { CapabilityReasonType } from './capability-reason-schema.ts';
import type { SysTopicsSample } from './sys-topics.ts';

const ConnectionState = describedEnum('BrokerConnectionState', 'The state of this service’s connection to a broker.', {
  CONNECTING: 'The first attempt to connect, also after a change of settings.',
  CONNECTED: 'The broker accepted the connection.',
  UNAUTHORIZED: 'The broker refuses the credentials.',
  UNREACHABLE: 'The connection failed or was lost. The service reconnects.',
  CLOSED: 'The service does not connect to the broker.',
});

export const BrokerConnectionStatus = builder.objectRef<LinkStatus>('BrokerConnectionStatus').implement({
  description: 'This service’s connection to a broker.',
  fields: (t) => ({
    state: t.expose('state', { description: 'The current state.', type: ConnectionState }),
    since: t.expose('since', { description: 'Time of the last change of the state.', type: 'DateTime' }),
    lastError: t.string({
      description:
        'Why the service is not connected. Only administrators of the project learn whether the host or the port can be reached. Null while it is connected, or if there was no failure.',
      nullable: true,
      resolve: ({ lastError }) => lastError ?? null,
    }),
  }),
});

/** The status of a broker's link, as far as the caller may know it. */
export const statusFor = (
  viewer: Viewer | null,
  broker: Pick<BrokerRecord, 'id' | 'projectId'> | null,
  status: LinkStatus,
): LinkStatus =>
  viewer !== null && broker !== null && seesBroker(viewer, broker, 'ADMIN') ? status : withoutReachability(status);

export const ControlProvider = describedEnum(
  'ControlProvider',
  'The component that executes the commands of a control API of a broker.',
  {
    BROKER: 'The broker itself.',
    GATEWAY: 'A plugin of this service. If it is limited, the reason names the limits and the remedy.',
    NONE: 'The API is not available. The reason names the remedy.',
  },
);

export const BrokerPluginType = builder.objectRef<BrokerPlugin>('BrokerPlugin').implement({
  description: 'A plugin of a broker.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name that the plugin has given itself, such as `dynamic-security`.' }),
    version: t.exposeString('version', {
      description: 'Version of the plugin. Null if the broker reports none.',
      nullable: true,
    }),
    endpoints: t.stringList({
      description: 'Topics of the control APIs that the plugin serves, such as `$CONTROL/dynamic-security/v1`.',
      resolve: ({ endpoints }) => [...endpoints],
    }),
  }),
});

export const Capability = builder.objectRef<ControlCapability>('BrokerCapability').implement({
  description: 'The provider of a control API of a broker.',
  fields: (t) => ({
    api: t.exposeString('api', {
      description: 'Name of the control API: the levels between `$CONTROL/` and `/v1`, such as `cedalo/inspect`.',
    }),
    provider: t.expose('provider', { description: 'The component that executes the commands.', type: ControlProvider }),
    since: knownTimeField(t, 'Time at which the service determined the provider.', ({ since }) => since),
    reason: t.string({
      description: 'Why the API is limited or not available, and the remedy. Null if it is completely available.',
      nullable: true,
      resolve: ({ reason }) => reason ?? null,
    }),
    reasonCode: t.field({
      description: 'The code of `reason`. Null if the API is completely available.',
      type: CapabilityReasonType,
      nullable: true,
      resolve: ({ reasonCode }) => reasonCode ?? null,
    }),
  }),
});

export const License = builder.objectRef<LicenseInformation>('License').implement({
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
    validSince: timeField(t, 'Start of the licence. Null if the broker reports none.', ({ validSince }) =>
      validSince === NO_START ? null : validSince,
    ),
    validUntil: timeField(t, 'End of the licence. Null if it does not expire.', ({ validUntil }) =>
      validUntil === NO_END ? null : validUntil,
    ),
    features: t.stringList({ description: 'All available features.', resolve: ({ features }) => [...features] }),
  }),
});

export const SysTopics = builder.objectRef<SysTopicsSample>('SysTopics').implement({
  description: 'The values that a broker published below $SYS.',
  fields: (t) => ({
    topics: t.expose('topics', { type: 'JSON', description: 'Nested by topic level; values are text.' }),
    asOf: timeField(t, 'Time of the last value. Null before the first one.', ({ date }) => (date === 0 ? null : date)),
  }),
});

export const RestBrokerInfo = builder.objectRef<BrokerInfoData>('RestBrokerInfo').implement({
  ...withBroker,
  description: 'Internal: information that a broker publishes about itself, as the REST interface documents it.',
  fields: (t) => ({
    brokerId: t.id({ description: 'The id of the broker.', resolve: ({ broker }) => broker.id }),
    url: t.string({ description: URL_OR_NULL, nullable: true, resolve: ({ broker }) => broker.url }),
    name: t.string({ description: BROKER_NAME, resolve: ({ broker }) => broker.name }),
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

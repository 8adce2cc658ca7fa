import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, NULLABLE_STRING, NUMBER, STRING } from '../../gateway/rest/schemas.ts';

/** Documented spellings of the graph's enums. */
export const BROKER_TYPES = {
  CLOUD: 'cloud',
  SELF_HOSTED: 'self-hosted',
  ON_PREMISE_SETUP: 'on-premise-setup',
} as const;
export const CLUSTER_MODES = { FULL: 'full', DYNSEC: 'dynsec', HP: 'hp' } as const;
export const CLOUD_BROKER_STATES = {
  ACTIVE: 'active',
  INACTIVE: 'inactive',
  NEW: 'new',
  PROVISIONING: 'provisioning',
  UPDATING: 'updating',
  ERROR: 'error',
  STOPPING_PAYMENT: 'stopping_payment',
  PAYMENT_STOPPED: 'payment_stopped',
  SHUTTING_DOWN: 'shutting_down',
} as const;
export const CLOUD_BROKER_TARGET_STATES = { ACTIVE: 'active', INACTIVE: 'inactive' } as const;

const text = (description: string): JsonSchema => ({ type: ['string', 'null'], minLength: 1, description });

/** Body of POST and PUT: nothing is required, null clears. */
export const BROKER_CONNECTION: JsonSchema = closed(
  {
    name: { type: 'string', minLength: 1 },
    description: NULLABLE_STRING,
    url: { type: 'string', minLength: 1, description: 'mqtt://, mqtts://, ws:// or wss://' },
    username: text('The user to connect as.'),
    password: text('Stored sealed, never answered.'),
    ca_cert: text('PEM of the authority that signed the certificate of the broker.'),
    ca_cert_file: text('File below the folder that the operator opened for it.'),
    client_cert: text('PEM.'),
    client_cert_file: text('File below the folder that the operator opened for it.'),
    client_key: text('PEM. Stored sealed, never answered.'),
    client_key_file: text('File below the folder that the operator opened for it.'),
    verify_ca_cert: BOOLEAN,
    metricsEnabled: BOOLEAN,
    ha: BOOLEAN,
    clustermode: { type: ['string', 'null'], enum: [...Object.values(CLUSTER_MODES), null] },
  },
  {
    required: [],
    title: 'BrokerConnection',
    examples: [
      { name: 'plant', url: 'mqtt://broker.example.com:1883', username: 'gateway', password: 'a long secret' },
    ],
  },
);

type Properties = Readonly<Record<string, JsonSchema>>;

const COMMON: Properties = {
  id: STRING,
  name: STRING,
  project_id: STRING,
  ha: BOOLEAN,
  created_at: STRING,
  updated_at: STRING,
};

const PRODUCT: Properties = {
  canceled_at: NULLABLE_STRING,
  issued_to: STRING,
  product_id: STRING,
  payment_subscription_item_id: NULLABLE_STRING,
  period_start: STRING,
  period_end: NULLABLE_STRING,
};

const OPTIONAL = ['canceled_at', 'payment_subscription_item_id', 'period_end', 'deployed_at', 'shutdown_at'];

const kind = (title: string, type: string, properties: Properties): JsonSchema => {
  const all = { type: { type: 'string', const: type }, ...properties };
  return closed(all, { required: Object.keys(all).filter((key) => !OPTIONAL.includes(key)), title });
};

const CLOUD: Properties = {
  ...COMMON,
  url: STRING,
  verify_ca_cert: BOOLEAN,
  ...PRODUCT,
  options: STRING,
  subdomain: STRING,
  zone_name: STRING,
  deployed_at: NULLABLE_STRING,
  shutdown_at: NULLABLE_STRING,
  location: { type: 'string', enum: ['fsn1', 'nbg1', 'hel1', 'ash', 'hil'] },
  state: { type: 'string', enum: Object.values(CLOUD_BROKER_STATES) },
  target_state: { type: 'string', enum: Object.values(CLOUD_BROKER_TARGET_STATES) },
};
const SELF_HOSTED: Properties = { ...COMMON, url: STRING, verify_ca_cert: BOOLEAN };
const ON_PREMISE_SETUP: Properties = { ...COMMON, ...PRODUCT };

/** A broker as the settings of its project tell it. */
export const BROKER_SERVICE: JsonSchema = {
  title: 'BrokerService',
  oneOf: [
    kind('CloudBrokerService', 'cloud', CLOUD),
    kind('SelfHostedBrokerService', 'self-hosted', SELF_HOSTED),
    kind('OnPremiseSetupService', 'on-premise-setup', ON_PREMISE_SETUP),
  ],
};

const LIVE: Properties = { description: NULLABLE_STRING, isConnected: BOOLEAN };

/** A broker as the broker list and the single read tell it. */
export const BROKER: JsonSchema = {
  title: 'Broker',
  oneOf: [
    kind('CloudBroker', 'cloud', { ...CLOUD, ...LIVE }),
    kind('SelfHostedBroker', 'self-hosted', { ...SELF_HOSTED, ...LIVE }),
    kind('OnPremiseSetup', 'on-premise-setup', { ...ON_PREMISE_SETUP, ...LIVE }),
  ],
};

export const BROKERS: JsonSchema = { type: 'array', items: BROKER };

export const LICENSE: JsonSchema = closed(
  {
    plan: STRING,
    edition: STRING,
    issuedBy: STRING,
    issuedTo: STRING,
    validSince: { ...NUMBER, description: 'Epoch milliseconds.' },
    validUntil: { ...NUMBER, description: 'Epoch milliseconds.' },
    features: { type: 'array', items: STRING, description: 'All available features.' },
  },
  { title: 'License' },
);

const SYS_TOPICS: JsonSchema = closed(
  {
    topics: { type: 'object', description: 'Nested by topic level; leaves are text.' },
    date: { ...NUMBER, description: 'Epoch milliseconds.' },
  },
  { title: 'SysTopics' },
);

/** `licenseInfo` is left out while the broker cannot be asked, `url` for a setup that has none. */
export const BROKER_INFO: JsonSchema = closed(
  {
    id: STRING,
    url: STRING,
    name: STRING,
    project_id: STRING,
    sysTopics: SYS_TOPICS,
    sysTopicsHistory: { type: 'array', items: SYS_TOPICS },
    isConnected: BOOLEAN,
    licenseInfo: LICENSE,
  },
  { required: ['id', 'name', 'project_id', 'sysTopics', 'sysTopicsHistory', 'isConnected'], title: 'BrokerInfo' },
);

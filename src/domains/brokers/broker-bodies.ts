import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, NULLABLE_STRING, NUMBER, STRING } from '../../gateway/rest/schemas.ts';
import { CLOUD, ON_PREMISE_SETUP, type Properties, SELF_HOSTED, serviceOfType } from '../projects/service-bodies.ts';

export const CLUSTER_MODES = { FULL: 'full', DYNSEC: 'dynsec', HP: 'hp' } as const;

/** Spells the keys of a body as the graph does: `ca_cert` becomes `caCert`. */
export const inCamelCase = (body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key.replaceAll(/_(\w)/g, (_, x: string) => x.toUpperCase()), value]),
  );

const text = (description: string): JsonSchema => ({ type: ['string', 'null'], minLength: 1, description });

const FILE = 'A file in the folder BROKER_FILES_DIR of the service.';

/** Body of POST and PUT. No key is required; null clears. */
export const BROKER_CONNECTION: JsonSchema = closed(
  {
    name: { type: 'string', minLength: 1 },
    description: NULLABLE_STRING,
    url: { type: 'string', minLength: 1, description: 'mqtt://, mqtts://, ws:// or wss://' },
    username: text('The user name for the connection.'),
    password: text('Stored encrypted, never returned.'),
    ca_cert: text('PEM of the authority that signed the certificate of the broker.'),
    ca_cert_file: text(FILE),
    client_cert: text('PEM.'),
    client_cert_file: text(FILE),
    client_key: text('PEM. Stored encrypted, never returned.'),
    client_key_file: text(FILE),
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

const LIVE: Properties = { description: NULLABLE_STRING, isConnected: BOOLEAN };

export const BROKER: JsonSchema = {
  title: 'Broker',
  oneOf: [
    serviceOfType('CloudBroker', 'cloud', { ...CLOUD, ...LIVE }),
    serviceOfType('SelfHostedBroker', 'self-hosted', { ...SELF_HOSTED, ...LIVE }),
    serviceOfType('OnPremiseSetup', 'on-premise-setup', { ...ON_PREMISE_SETUP, ...LIVE }),
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
    topics: { type: 'object', description: 'Nested by topic level; values are text.' },
    date: { ...NUMBER, description: 'Epoch milliseconds.' },
  },
  { title: 'SysTopics' },
);

/** `licenseInfo` is omitted if no licence is known since the start of the service, `url` for a setup without one. */
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

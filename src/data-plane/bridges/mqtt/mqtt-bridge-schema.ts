import { configSchema, flagSchema, integerSchema, type JsonSchema, textSchema } from '../model/bridge-kind.ts';
import { queueSchema } from '../sink/sink-schema.ts';
import { DEFAULT_QOS } from './mqtt-bridge-config.ts';

/** Maximum length of a text in MQTT (MQTT 5, 1.5.4). */
const MQTT_TEXT = { maxLength: 65_535 };
const PEM = { maxLength: 65_536 };

const topicRule: JsonSchema = {
  type: 'object',
  description: 'Topics whose messages are forwarded.',
  additionalProperties: false,
  required: ['pattern', 'direction'],
  properties: {
    pattern: textSchema(
      'Topic filter without the prefixes, with the wildcards + and #. May be empty if both prefixes are given: they then name one topic.',
      MQTT_TEXT,
    ),
    direction: textSchema('out: from this broker to the other one; in: from the other one to this; both.', {
      enum: ['in', 'out', 'both'],
    }),
    qos: {
      type: 'integer',
      description: 'The maximum quality of service of forwarded messages.',
      enum: [0, 1, 2],
      default: DEFAULT_QOS,
    },
    localPrefix: textSchema('The prefix of the pattern in topics of this broker.', { ...MQTT_TEXT, default: '' }),
    remotePrefix: textSchema('The prefix of the pattern in topics of the other broker.', { ...MQTT_TEXT, default: '' }),
    retain: flagSchema(
      'Whether retained messages are forwarded as retained, including those that a broker has when the bridge first subscribes. Otherwise only live messages are forwarded, and not retained.',
      true,
    ),
  },
};

const connection: JsonSchema = {
  type: 'object',
  description: 'A connection to another broker.',
  additionalProperties: false,
  required: ['name', 'url', 'topics'],
  properties: {
    name: textSchema(
      'Names the connection among those of this bridge. Another name is another connection, with a session and a queue of its own.',
      { minLength: 1, maxLength: 100 },
    ),
    active: flagSchema('Whether to connect. Queued messages remain.', true),
    url: textSchema(
      'Address of the other broker: mqtt://, mqtts://, ws:// or wss://, without user name and password.',
      { minLength: 1, maxLength: 2_048 },
    ),
    username: textSchema('User name at the other broker.', MQTT_TEXT),
    password: textSchema('Password at the other broker.', { ...MQTT_TEXT, writeOnly: true }),
    clientId: textSchema('Client id at the other broker. Default: a generated id that stays the same.', {
      minLength: 1,
      ...MQTT_TEXT,
    }),
    keepalive: integerSchema('Keep Alive interval to the other broker, in seconds.', [5, 65_535], 15),
    ca: textSchema(
      'Certificates (PEM) of the authorities that may sign that of the other broker, instead of the well-known ones.',
      PEM,
    ),
    cert: textSchema('Client certificate (PEM) for the other broker, with its chain.', PEM),
    key: textSchema('Private key (PEM) of the client certificate.', { ...PEM, writeOnly: true }),
    verifyCa: flagSchema("Whether the other broker's certificate and its host name are verified.", true),
    stopsLoops: flagSchema(
      'Whether messages that another bridge sends back again and again are dropped. A message that a client repeats more than five times a second is then forwarded once in 10 seconds.',
      false,
    ),
    topics: {
      type: 'array',
      description: 'The forwarded topics.',
      minItems: 1,
      maxItems: 1_000,
      items: topicRule,
    },
    queue: {
      ...queueSchema,
      description: 'Limits of the queue, for each direction. If it is full, new messages are dropped and counted.',
    },
  },
};

export const mqttBridgeSchema: JsonSchema = configSchema(
  'MQTT bridge',
  { whole: 'Forwards messages between this broker and others.', connections: 'Connections to other brokers.' },
  connection,
);

import { configSchema, type JsonSchema } from '../model/bridge-kind.ts';
import { queueSchema } from '../sink/sink-schema.ts';
import { DEFAULT_QOS } from './mqtt-bridge-config.ts';

const PEM_BYTES = 65_536;

const topicRule: JsonSchema = {
  type: 'object',
  description: 'Topics whose messages are forwarded.',
  additionalProperties: false,
  required: ['pattern', 'direction'],
  properties: {
    pattern: {
      type: 'string',
      description:
        'Topic filter without the prefixes, with the wildcards + and #. May be empty if both prefixes are given: they then name one topic.',
      maxLength: 65_535,
    },
    direction: {
      type: 'string',
      description: 'out: from this broker to the other one; in: from the other one to this; both.',
      enum: ['in', 'out', 'both'],
    },
    qos: {
      type: 'integer',
      description: 'The maximum quality of service of forwarded messages.',
      enum: [0, 1, 2],
      default: DEFAULT_QOS,
    },
    localPrefix: {
      type: 'string',
      description: 'The prefix of the pattern in topics of this broker.',
      maxLength: 65_535,
      default: '',
    },
    remotePrefix: {
      type: 'string',
      description: 'The prefix of the pattern in topics of the other broker.',
      maxLength: 65_535,
      default: '',
    },
    retain: {
      type: 'boolean',
      description:
        'Whether retained messages are forwarded as retained, including those that a broker has when the bridge first subscribes. Otherwise only live messages are forwarded, and not retained.',
      default: true,
    },
  },
};

const connection: JsonSchema = {
  type: 'object',
  description: 'A connection to another broker.',
  additionalProperties: false,
  required: ['name', 'url', 'topics'],
  properties: {
    name: {
      type: 'string',
      description:
        'Names the connection among those of this bridge. Another name is another connection, with a session and a queue of its own.',
      minLength: 1,
      maxLength: 100,
    },
    active: { type: 'boolean', description: 'Whether to connect. Queued messages remain.', default: true },
    url: {
      type: 'string',
      description: 'Address of the other broker: mqtt://, mqtts://, ws:// or wss://, without user name and password.',
      minLength: 1,
      maxLength: 2_048,
    },
    username: { type: 'string', description: 'User name at the other broker.', maxLength: 65_535 },
    password: { type: 'string', description: 'Password at the other broker.', maxLength: 65_535, writeOnly: true },
    clientId: {
      type: 'string',
      description: 'Client id at the other broker. Default: a generated id that stays the same.',
      minLength: 1,
      maxLength: 65_535,
    },
    keepalive: {
      type: 'integer',
      description: 'Keep Alive interval to the other broker, in seconds.',
      minimum: 5,
      maximum: 65_535,
      default: 15,
    },
    ca: {
      type: 'string',
      description:
        'Certificates (PEM) of the authorities that may sign that of the other broker, instead of the well-known ones.',
      maxLength: PEM_BYTES,
    },
    cert: {
      type: 'string',
      description: 'Client certificate (PEM) for the other broker, with its chain.',
      maxLength: PEM_BYTES,
    },
    key: {
      type: 'string',
      description: 'Private key (PEM) of the client certificate.',
      maxLength: PEM_BYTES,
      writeOnly: true,
    },
    verifyCa: {
      type: 'boolean',
      description: "Whether the other broker's certificate and its host name are verified.",
      default: true,
    },
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

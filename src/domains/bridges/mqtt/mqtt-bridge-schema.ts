import type { JsonSchema } from '../model/bridge-kind.ts';
import { DEFAULT_QOS, QUEUE_BOUNDS } from './mqtt-bridge-config.ts';

const PEM_BYTES = 65_536;

const topicRule: JsonSchema = {
  type: 'object',
  description: 'Topics that are passed on.',
  additionalProperties: false,
  required: ['pattern', 'direction'],
  properties: {
    pattern: {
      type: 'string',
      description:
        'Topic filter without the prefixes, with the wildcards + and #. May be empty where both prefixes are given: they then name one topic.',
      maxLength: 65_535,
    },
    direction: {
      type: 'string',
      description: 'out: from this broker to the other one; in: from the other one to this; both.',
      enum: ['in', 'out', 'both'],
    },
    qos: {
      type: 'integer',
      description: 'The highest quality of service with which messages are passed on.',
      enum: [0, 1, 2],
      default: DEFAULT_QOS,
    },
    localPrefix: {
      type: 'string',
      description: 'Stands before the pattern in the topics of this broker.',
      maxLength: 65_535,
      default: '',
    },
    remotePrefix: {
      type: 'string',
      description: 'Stands before the pattern in the topics of the other broker.',
      maxLength: 65_535,
      default: '',
    },
    retain: {
      type: 'boolean',
      description:
        'Whether retained messages are passed on as such, those that a broker has when the bridge first subscribes among them. Otherwise live messages alone are, not retained.',
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
    active: { type: 'boolean', description: 'Whether it is to be connected. What is queued stays.', default: true },
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
      description: 'Client id at the other broker. One that stays the same is made where it is left out.',
      minLength: 1,
      maxLength: 65_535,
    },
    keepalive: {
      type: 'integer',
      description: 'Seconds between signs of life to the other broker.',
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
      description: 'What is passed on.',
      minItems: 1,
      maxItems: 1_000,
      items: topicRule,
    },
    queue: {
      type: 'object',
      description:
        'Bounds of what waits for its delivery, of each direction. What comes while it is full is dropped and counted.',
      additionalProperties: false,
      properties: {
        maxMessages: {
          type: 'integer',
          description: 'Messages.',
          minimum: 1,
          maximum: 100_000_000,
          default: QUEUE_BOUNDS.maxMessages,
        },
        maxBytes: {
          type: 'integer',
          description: 'Bytes, on disk for the most part.',
          minimum: 1_024,
          maximum: 1_099_511_627_776,
          default: QUEUE_BOUNDS.maxBytes,
        },
      },
    },
  },
};

export const mqttBridgeSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'MQTT bridge',
  description: 'Passes messages on between this broker and other ones.',
  type: 'object',
  additionalProperties: false,
  required: ['connections'],
  properties: {
    connections: {
      type: 'array',
      description: 'Connections to other brokers.',
      maxItems: 100,
      items: connection,
    },
  },
};

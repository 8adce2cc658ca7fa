import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, FILTER_QUERY, INTEGER, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';
import {
  CLIENT_PROTOCOL_VERSIONS,
  CLIENT_PROTOCOLS,
  INFLIGHT_KEYS,
  QUEUE_KEYS,
} from '../../protocol/apis/clients/inspect-data.ts';

export const CLIENT_INSPECT_QUERY: JsonSchema = {
  type: 'object',
  properties: {
    ...PAGE_QUERY,
    ...FILTER_QUERY,
    filterValue: { type: 'string', maxLength: 65_535, description: 'Compared with user name and client id.' },
  },
};

export const CLIENT_DETAIL_QUERY: JsonSchema = {
  type: 'object',
  properties: { clientid: { type: 'string', minLength: 1, maxLength: 65_535 } },
  required: ['clientid'],
};

type Properties = Readonly<Record<string, JsonSchema>>;

const integers = (...names: string[]): JsonSchema =>
  closed(Object.fromEntries(names.map((name) => [name, INTEGER])), { required: [] });

/** Fields that the source does not know are omitted, except the client id. */
const SUMMARY: Properties = {
  username: { type: 'string', description: '`<anonymous>` if the client gave none.' },
  clientid: STRING,
  address: { type: 'string', description: 'IP address.' },
  protocol: { type: 'string', enum: CLIENT_PROTOCOLS },
  protocolVersion: { type: 'string', enum: CLIENT_PROTOCOL_VERSIONS },
  connected: BOOLEAN,
  lastConnect: { type: 'integer', description: 'Epoch milliseconds.' },
  lastDisconnect: { type: ['integer', 'null'], description: 'Epoch milliseconds; null if never disconnected.' },
};

const CONNECTED_CLIENT: JsonSchema = closed(
  {
    ...SUMMARY,
    queues: integers('bytesOut', 'bytesMax', 'messagesOut', 'messagesMax', 'pagedMessagesOut', 'pagedMessagesMax'),
  },
  { required: ['username', 'clientid'], title: 'ConnectedClient' },
);

/** With `verbose=false` client ids instead of objects. */
export const CONNECTED_CLIENTS: JsonSchema = {
  oneOf: [
    { type: 'array', items: CONNECTED_CLIENT },
    { type: 'array', items: STRING, minItems: 1 },
  ],
};

const WILL: JsonSchema = closed(
  {
    topic: STRING,
    qos: INTEGER,
    retain: BOOLEAN,
    payload: { type: 'string', description: 'Base64.' },
    properties: {
      type: 'array',
      items: closed({ identifier: STRING, name: STRING, value: STRING }, { required: ['identifier', 'value'] }),
    },
    delayInterval: { type: 'integer', description: 'Seconds.' },
  },
  { required: ['topic', 'qos', 'retain', 'payload'] },
);

export const CONNECTED_CLIENT_DETAIL: JsonSchema = closed(
  {
    ...SUMMARY,
    numSubscriptions: {
      type: 'integer',
      description:
        'Active subscriptions, also those that `subscriptions` does not list. Absent if the number is not known.',
    },
    numPublished: { type: 'integer', description: 'Messages received from the client.' },
    numSubscribed: { type: 'integer', description: 'Messages sent to the client.' },
    numDropped: { type: 'integer', description: 'Messages dropped because a queue was full.' },
    bytesPublished: { type: 'integer', description: 'Payload bytes received from the client.' },
    bytesSubscribed: { type: 'integer', description: 'Payload bytes sent to the client.' },
    keepalive: { type: 'integer', description: 'Seconds.' },
    cleanSession: BOOLEAN,
    tls: closed(
      { clientCertificate: { type: 'string', description: 'PEM.' }, version: STRING, ciphers: STRING },
      { required: [] },
    ),
    listener: closed({ port: INTEGER, bind_address: STRING }, { required: ['port'] }),
    will: WILL,
    subscriptions: { type: 'array', items: STRING, description: 'Topic filters.' },
    subscriptionsReason: {
      type: 'string',
      description:
        'Why `subscriptions` is not complete. Absent if the list has all subscriptions, or is absent itself.',
    },
    queues: integers(...QUEUE_KEYS),
    inflight: integers(...INFLIGHT_KEYS),
  },
  { required: ['username', 'clientid'], title: 'ConnectedClientDetail' },
);

const CLIENT_ID: JsonSchema = { type: 'string', minLength: 1, maxLength: 65_535 };
const TOPIC: JsonSchema = { type: 'string', minLength: 1, maxLength: 65_535, description: 'Topic filter.' };

export const CLIENT_DISCONNECT: JsonSchema = closed(
  {
    clientid: CLIENT_ID,
    force: {
      type: 'boolean',
      default: false,
      description:
        'Only for brokers that disconnect whole accounts: also disconnect the client if other clients use its account.',
    },
  },
  { required: ['clientid'], title: 'ClientDisconnect', examples: [{ clientid: 'meter-7' }] },
);

export const DISCONNECTED: JsonSchema = closed({}, { title: 'Disconnected' });

/** Documented values of `send_retain`; "null" and null mean that it is absent. */
export const SEND_RETAIN = { ALWAYS: 'always', NEW: 'new', NEVER: 'never' } as const;

export const CLIENT_SUBSCRIBE: JsonSchema = closed(
  {
    clientid: CLIENT_ID,
    topic: TOPIC,
    qos: { type: 'number', enum: [0, 1, 2], default: 0 },
    options: closed(
      {
        no_local: BOOLEAN,
        retain_as_published: BOOLEAN,
        send_retain: {
          type: ['string', 'null'],
          enum: [...Object.values(SEND_RETAIN), 'null', null],
          description: 'Default: always. "null" and null mean that it is absent.',
        },
      },
      { required: [], description: 'MQTT 5.' },
    ),
  },
  {
    required: ['clientid', 'topic'],
    title: 'ClientSubscribe',
    examples: [{ clientid: 'meter-7', topic: 'plant/alarms/#', qos: 1, options: { send_retain: 'always' } }],
  },
);

export const CLIENT_UNSUBSCRIBE: JsonSchema = closed(
  { clientid: CLIENT_ID, topic: TOPIC },
  { title: 'ClientUnsubscribe', examples: [{ clientid: 'meter-7', topic: 'plant/alarms/#' }] },
);

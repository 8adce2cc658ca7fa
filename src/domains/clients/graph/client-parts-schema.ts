import { builder } from '../../../gateway/graphql/builder.ts';
import { QUESTION_COST } from '../../../gateway/graphql/page-cost.ts';
import type { ClientView } from '../client-view.ts';
import {
  type ClientInflight,
  type ClientListener,
  type ClientQueues,
  type ClientTls,
  type ClientWill,
  INFLIGHT_KEYS,
  QUEUE_KEYS,
} from '../inspect/inspect-data.ts';
import type { ClientSubscription } from '../inspect/subscriptions.ts';
import type { UnknownField } from '../inspect/unknown-fields.ts';
import { detail } from './client-detail.ts';

/* What a client is made of, as the graph shows it. */

export const ClientProtocol = builder.enumType('ClientProtocol', {
  description: 'What a client speaks to the broker.',
  values: {
    MQTT: { value: 'MQTT', description: 'By TCP or TLS.' },
    MQTT_SN: { value: 'MQTT-SN', description: 'For sensor networks.' },
    MQTT_WS: { value: 'MQTT-WS', description: 'MQTT over WebSocket.' },
  } as const,
});
export const ClientProtocolVersion = builder.enumType('ClientProtocolVersion', {
  description: 'Version of MQTT.',
  values: { V3_1: { value: 'v3.1' }, V3_1_1: { value: 'v3.1.1' }, V5: { value: 'v5' } } as const,
});
export const ClientSource = builder.enumType('ClientSource', {
  description: 'Where what is known about clients comes from.',
  values: {
    BROKER: { description: 'The broker’s own inspect API.' },
    LOG_FEED: { description: 'Followed through the broker’s log: only clients that came since `since` are known.' },
  } as const,
});

/** Numbers that the commercial plugin tells of single clients only; of one in a list it is asked where they are missing. */
const OF_SINGLE_CLIENTS: ReadonlySet<(typeof QUEUE_KEYS)[number]> = new Set([
  'bytesIn',
  'messagesIn',
  'messagesInQos12',
  'messagesOutQos12',
]);

interface QueuesView {
  readonly client: ClientView;
  readonly counts: ClientQueues;
}

// All numbers are Float, because bytes pass 2^31.
export const ClientQueuesType = builder.objectRef<QueuesView>('ClientQueues').implement({
  description: 'Messages waiting for or from a client. Null: the source does not know.',
  fields: (t) =>
    Object.fromEntries(
      QUEUE_KEYS.map((key) => {
        const ofSingle = OF_SINGLE_CLIENTS.has(key);
        const field = t.float({
          nullable: true,
          ...(ofSingle ? { complexity: QUESTION_COST } : {}),
          resolve: ({ client, counts }, _args, context) =>
            counts[key] ?? (ofSingle ? detail(client, context, ({ queues }) => queues?.[key] ?? null) : null),
        });
        return [key, field];
      }),
    ),
});

export const ClientInflightType = builder.objectRef<ClientInflight>('ClientInflight').implement({
  description: 'Messages sent and not acknowledged yet. Null: the source does not know.',
  fields: (t) =>
    Object.fromEntries(
      INFLIGHT_KEYS.map((key) => [key, t.float({ nullable: true, resolve: (counts) => counts[key] ?? null })]),
    ),
});

export const ClientTlsType = builder.objectRef<ClientTls>('ClientTls').implement({
  description: 'How a connection is encrypted. Null: the source does not know.',
  fields: (t) => ({
    clientCertificate: t.string({
      description: 'PEM.',
      nullable: true,
      resolve: (tls) => tls.clientCertificate ?? null,
    }),
    version: t.string({ nullable: true, resolve: ({ version }) => version ?? null }),
    ciphers: t.string({ nullable: true, resolve: ({ ciphers }) => ciphers ?? null }),
  }),
});

export const ClientListenerType = builder.objectRef<ClientListener>('ClientListener').implement({
  description: 'The listener of the broker that a client came in by.',
  fields: (t) => ({
    port: t.exposeInt('port'),
    bindAddress: t.string({ nullable: true, resolve: ({ bind_address }) => bind_address ?? null }),
  }),
});

export const ClientWillType = builder.objectRef<ClientWill>('ClientWill').implement({
  description: 'The message that the broker publishes when the client is lost.',
  fields: (t) => ({
    topic: t.exposeString('topic'),
    qos: t.exposeInt('qos'),
    retain: t.exposeBoolean('retain'),
    payload: t.exposeString('payload', { description: 'Base64.' }),
    properties: t.field({
      description: 'MQTT 5: objects of identifier, name and value.',
      type: ['JSON'],
      nullable: true,
      resolve: ({ properties }) => (properties ? [...properties] : null),
    }),
    delayInterval: t.int({
      description: 'Seconds.',
      nullable: true,
      resolve: ({ delayInterval }) => delayInterval ?? null,
    }),
  }),
});

export const ClientSubscriptionType = builder.objectRef<ClientSubscription>('ClientSubscription').implement({
  description: 'One topic filter of a client, with its options.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'Topic filter.' }),
    qos: t.int({
      description: 'As granted. Null: the source does not know.',
      nullable: true,
      resolve: ({ qos }) => qos ?? null,
    }),
    noLocal: t.boolean({
      description: 'MQTT 5: what the client itself publishes does not come back. Null: the source does not know.',
      nullable: true,
      resolve: ({ noLocal }) => noLocal ?? null,
    }),
    retainAsPublished: t.boolean({
      description: 'MQTT 5: messages keep the retain flag they were published with. Null: the source does not know.',
      nullable: true,
      resolve: ({ retainAsPublished }) => retainAsPublished ?? null,
    }),
  }),
});

export const UnknownFieldType = builder.objectRef<UnknownField>('UnknownField').implement({
  description: 'A field that is null because nobody could tell it.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'Its name here, with a dot before a field of an object.' }),
    reason: t.exposeString('reason', { description: 'For people: why, and what would tell it.' }),
  }),
});

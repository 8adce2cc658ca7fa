import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { belongsToBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import type { ClientView } from '../client-view.ts';
import {
  type ClientInflight,
  type ClientListener,
  type ClientQueues,
  type ClientSubscriptionOptions,
  type ClientTls,
  type ClientWill,
  type ConnectedClientDetail,
  INFLIGHT_KEYS,
  QUEUE_KEYS,
} from '../inspect/inspect-data.ts';
import type { UnknownField } from '../inspect/unknown-fields.ts';

export const ClientProtocol = builder.enumType('ClientProtocol', {
  description: 'The protocol between a client and the broker.',
  values: {
    MQTT: { value: 'MQTT', description: 'MQTT over TCP or TLS.' },
    MQTT_SN: { value: 'MQTT-SN', description: 'MQTT for sensor networks.' },
    MQTT_WS: { value: 'MQTT-WS', description: 'MQTT over WebSocket.' },
  } as const,
});
export const ClientProtocolVersion = builder.enumType('ClientProtocolVersion', {
  description: 'The MQTT version.',
  values: { V3_1: { value: 'v3.1' }, V3_1_1: { value: 'v3.1.1' }, V5: { value: 'v5' } } as const,
});
export const ClientSource = builder.enumType('ClientSource', {
  description: 'The source of information about clients.',
  values: {
    BROKER: { description: 'The broker’s own inspect API.' },
    LOG_FEED: { description: 'The broker’s log: only clients that connected after `since` are known.' },
  } as const,
});

/** Reads a field of the detail. A client in a list reads its detail from the broker, once for all its fields. */
export function detail<T>(
  client: ClientView,
  context: RequestContext,
  read: (detail: ConnectedClientDetail) => T,
): T | Promise<T | null> {
  if (client.isDetailed) return read(client.known);
  const mayAsk = () => mayQueryBroker(context, client.isOneOfMany);
  return client.readDetail(mayAsk).then((known) => known && read(known));
}

/** Counters that the commercial plugin reports for single clients only; those of a listed client are read later. */
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

// All numbers are Float, because byte counts exceed 2^31.
export const ClientQueuesType = builder.objectRef<QueuesView>('ClientQueues').implement({
  ...belongsToBroker(({ client }: QueuesView) => client.broker),
  description: 'Queued messages from and for a client. A field is null if the source does not know it.',
  fields: (t) =>
    Object.fromEntries(
      QUEUE_KEYS.map((key) => {
        const ofSingle = OF_SINGLE_CLIENTS.has(key);
        const field = t.float({
          nullable: true,
          ...(ofSingle ? { complexity: BROKER_QUERY_COST } : {}),
          resolve: ({ client, counts }, _args, context) =>
            counts[key] ?? (ofSingle ? detail(client, context, ({ queues }) => queues?.[key]) : null),
        });
        return [key, field];
      }),
    ),
});

export const ClientInflightType = builder.objectRef<ClientInflight>('ClientInflight').implement({
  description: 'Messages in flight: sent and not acknowledged yet. A field is null if the source does not know it.',
  fields: (t) => Object.fromEntries(INFLIGHT_KEYS.map((key) => [key, t.exposeFloat(key, { nullable: true })])),
});

export const ClientTlsType = builder.objectRef<ClientTls>('ClientTls').implement({
  description: 'The encryption of a connection. A field is null if the source does not know it.',
  fields: (t) => ({
    clientCertificate: t.exposeString('clientCertificate', { description: 'PEM.', nullable: true }),
    version: t.exposeString('version', { nullable: true }),
    ciphers: t.exposeString('ciphers', { nullable: true }),
  }),
});

export const ClientListenerType = builder.objectRef<ClientListener>('ClientListener').implement({
  description: 'The listener of the broker that a client is connected to.',
  fields: (t) => ({
    port: t.exposeInt('port'),
    bindAddress: t.exposeString('bind_address', { nullable: true }),
  }),
});

export const ClientWillType = builder.objectRef<ClientWill>('ClientWill').implement({
  description: 'The will message, which the broker publishes when it loses the connection to the client.',
  fields: (t) => ({
    topic: t.exposeString('topic'),
    qos: t.exposeInt('qos'),
    retain: t.exposeBoolean('retain'),
    payload: t.exposeString('payload', { description: 'Base64.' }),
    properties: t.expose('properties', {
      description: 'MQTT 5: objects with `identifier`, `name` and `value`.',
      type: ['JSON'],
      nullable: true,
    }),
    delayInterval: t.exposeInt('delayInterval', { description: 'Seconds.', nullable: true }),
  }),
});

interface ClientSubscription extends ClientSubscriptionOptions {
  readonly topic: string;
  readonly qos?: number;
}

export const subscriptionsOf = (known: ConnectedClientDetail): ClientSubscription[] | undefined =>
  known.subscriptions?.map((topic, index) => {
    const qos = known.subscriptionQos?.[index];
    return { topic, ...(qos !== undefined && { qos }), ...known.subscriptionOptions?.[index] };
  });

export const ClientSubscriptionType = builder.objectRef<ClientSubscription>('ClientSubscription').implement({
  description: 'A subscription of a client, with its options.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'Topic filter.' }),
    qos: t.exposeInt('qos', {
      description: 'The granted QoS; null if the source does not know it.',
      nullable: true,
    }),
    noLocal: t.exposeBoolean('noLocal', {
      description: 'MQTT 5: whether the client does not receive its own messages; null if the source does not know it.',
      nullable: true,
    }),
    retainAsPublished: t.exposeBoolean('retainAsPublished', {
      description: 'MQTT 5: whether messages keep their retain flag; null if the source does not know it.',
      nullable: true,
    }),
  }),
});

export const UnknownFieldType = builder.objectRef<UnknownField>('UnknownField').implement({
  description: 'A field that is null because the source does not know it.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: 'Name of the field; fields of nested objects after a dot: `queues.bytesIn`.',
    }),
    reason: t.exposeString('reason', { description: 'Why the field is unknown, and how to change that.' }),
  }),
});

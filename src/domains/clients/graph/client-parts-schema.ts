import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import type {
  ClientListener,
  ClientSubscriptionOptions,
  ClientTls,
  ClientWill,
  ConnectedClientDetail,
} from '../../../protocol/apis/clients/inspect-data.ts';
import type { UnknownField } from '../../../protocol/apis/clients/unknown-fields.ts';
import type { ClientView } from '../client-view.ts';

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
  values: {
    V3_1: { value: 'v3.1', description: 'MQTT 3.1, protocol level 3.' },
    V3_1_1: { value: 'v3.1.1', description: 'MQTT 3.1.1, protocol level 4.' },
    V5: { value: 'v5', description: 'MQTT 5.0, protocol version 5.' },
  } as const,
});
export const ClientSource = describedEnum('ClientSource', 'The source of information about clients.', {
  BROKER: 'The broker’s own inspect API.',
  LOG_FEED: 'The broker’s log: only clients that connected after `since` are known.',
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

export const ClientTlsType = builder.objectRef<ClientTls>('ClientTls').implement({
  description: 'The encryption of a connection. A field is null if the source does not know it.',
  fields: (t) => ({
    clientCertificate: t.exposeString('clientCertificate', { description: 'PEM.', nullable: true }),
    version: t.exposeString('version', { description: 'The TLS version, such as `TLSv1.3`.', nullable: true }),
    ciphers: t.exposeString('ciphers', {
      description: 'The negotiated cipher suite, such as `TLS_AES_256_GCM_SHA384`.',
      nullable: true,
    }),
  }),
});

export const ClientListenerType = builder.objectRef<ClientListener>('ClientListener').implement({
  description: 'The listener of the broker that a client is connected to.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'The TCP port of the listener.' }),
    bindAddress: t.exposeString('bind_address', {
      description: 'The local address that the listener is bound to; `null` if the source does not know it.',
      nullable: true,
    }),
    hasTls: t.exposeBoolean('tls', {
      description: 'Whether connections to the listener are encrypted; `null` if the source does not know it.',
      nullable: true,
    }),
  }),
});

export const ClientWillType = builder.objectRef<ClientWill>('ClientWill').implement({
  description: 'The will message, which the broker publishes when it loses the connection to the client.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'The topic name to which the broker publishes.' }),
    qos: t.exposeInt('qos', { description: '0, 1 or 2.' }),
    retain: t.exposeBoolean('retain', { description: 'Whether the broker retains the message.' }),
    payload: t.exposeString('payload', { description: 'Base64.' }),
    properties: t.expose('properties', {
      description: 'MQTT 5: objects with `identifier`, `name` and `value`.',
      type: ['JSON'],
      nullable: true,
    }),
    delayInterval: t.expose('delayInterval', { type: 'SafeInt', description: 'Seconds.', nullable: true }),
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
  description:
    'A field that is null because the source does not know it, or `subscriptions` if the list has fewer than `numSubscriptions`.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: 'Name of the field; fields of nested objects after a dot: `queues.bytesIn`.',
    }),
    reason: t.exposeString('reason', { description: 'Why the field is unknown, and how to change that.' }),
  }),
});

import { builder, onBroker } from '../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../gateway/graphql/live-event.ts';
import { knownTimeField } from '../../gateway/graphql/time-field.ts';
import { stateIn } from '../../gateway/live/broadcast.ts';
import type { BrokerMetrics, BrokerNumbers } from './broker-metrics.ts';
import type { BrokerMetricsEvent } from './broker-metrics-feed.ts';
import { Broker } from './broker-schema.ts';

/** An object type with a nullable number per name in `meanings`. */
const numbersType = <Numbers extends Readonly<Record<keyof Numbers, number | null>>>(
  name: string,
  description: string,
  meanings: Readonly<Record<keyof Numbers & string, string>>,
  type: 'SafeInt' | 'Float' = 'SafeInt',
) =>
  builder.objectRef<Numbers>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        Object.entries<string>(meanings).map(([key, meaning]) => [
          key,
          t.field({ type, description: meaning, nullable: true, resolve: (numbers) => numbers[key as keyof Numbers] }),
        ]),
      ),
  });

const UNKNOWN = 'A field is null if the broker does not publish it.';

const COUNT_TYPES = {
  clients: numbersType<BrokerNumbers['clients']>('BrokerClientCounts', `Client sessions. ${UNKNOWN}`, {
    connected: 'Connected clients.',
    disconnected: 'Persistent sessions whose client is not connected.',
    total: 'Connected clients and offline persistent sessions.',
    maximum: 'Maximum number of simultaneously connected clients since the broker started.',
    expired: 'Persistent sessions that expired since the broker started.',
  }),
  messages: numbersType<BrokerNumbers['messages']>(
    'BrokerMessageCounts',
    `MQTT packets of all types since the broker started, and messages stored now. ${UNKNOWN}`,
    {
      received: 'Packets from clients.',
      sent: 'Packets to clients.',
      stored: 'Messages stored for clients now; Mosquitto includes retained messages.',
      storedBytes: 'Bytes of the payloads of stored messages.',
    },
  ),
  publish: numbersType<BrokerNumbers['publish']>(
    'BrokerPublishCounts',
    `PUBLISH packets, and bytes of their payloads, since the broker started. ${UNKNOWN}`,
    {
      received: 'Messages that clients published.',
      sent: 'Messages delivered, counted once per receiving client.',
      dropped: 'Messages that were not delivered: a queue was full, or a permission was missing.',
      bytesReceived: 'Bytes of payloads that clients published.',
      bytesSent: 'Bytes of payloads delivered.',
    },
  ),
  bytes: numbersType<BrokerNumbers['bytes']>(
    'BrokerByteCounts',
    `Network traffic since the broker started. ${UNKNOWN}`,
    {
      received: 'Bytes read from clients.',
      sent: 'Bytes written to clients.',
    },
  ),
  heap: numbersType<BrokerNumbers['heap']>(
    'BrokerHeap',
    'Memory in bytes; null if the broker was built without memory tracking.',
    {
      current: 'Memory in use now.',
      maximum: 'Maximum memory in use since the broker started.',
    },
  ),
};

const LoadAverages = numbersType<BrokerNumbers['load']['one']>(
  'BrokerLoadAverages',
  `Averages per minute, computed by the broker. ${UNKNOWN}`,
  {
    messagesReceived: 'MQTT packets of all types from clients.',
    messagesSent: 'MQTT packets of all types to clients.',
    publishReceived: 'Messages that clients published.',
    publishSent: 'Messages delivered.',
    publishDropped: 'Messages that were not delivered.',
    bytesReceived: 'Bytes read from clients.',
    bytesSent: 'Bytes written to clients.',
    sockets: 'Sockets opened.',
    connections: 'CONNECT packets.',
  },
  'Float',
);

const Load = builder.objectRef<BrokerNumbers['load']>('BrokerLoad').implement({
  description: 'Load averages of the broker.',
  fields: (t) => ({
    one: t.expose('one', { description: 'Over the last minute.', type: LoadAverages }),
    five: t.expose('five', { description: 'Over the last five minutes.', type: LoadAverages }),
    fifteen: t.expose('fifteen', { description: 'Over the last fifteen minutes.', type: LoadAverages }),
  }),
});

const Rates = numbersType<BrokerMetrics['rates']>(
  'BrokerRates',
  'Rates that this service computes from the last two times that the broker published its counters. Null until the broker has published twice on one connection, and after a counter was reset.',
  {
    messagesReceivedPerSecond: 'MQTT packets of all types from clients.',
    messagesSentPerSecond: 'MQTT packets of all types to clients.',
    publishReceivedPerSecond: 'Messages that clients published.',
    publishSentPerSecond: 'Messages delivered.',
    publishDroppedPerSecond: 'Messages that were not delivered.',
    publishBytesReceivedPerSecond: 'Bytes of payloads that clients published.',
    publishBytesSentPerSecond: 'Bytes of payloads delivered.',
    bytesReceivedPerSecond: 'Bytes read from clients.',
    bytesSentPerSecond: 'Bytes written to clients.',
  },
  'Float',
);

const BrokerMetricsType = builder.objectRef<BrokerMetrics>('BrokerMetrics').implement({
  description: `The numbers that a broker publishes below $SYS. ${UNKNOWN}`,
  fields: (t) => ({
    asOf: knownTimeField(t, 'The time of the last value.', ({ asOf }) => asOf),
    ageSeconds: t.float({
      description: 'Time from `asOf` until this response.',
      resolve: ({ asOf }) => Math.max(0, Date.now() - asOf) / 1_000,
    }),
    isStale: t.exposeBoolean('isStale', {
      description:
        'Whether the broker is not connected, or has published no value for three of its usual intervals (at least 30 seconds).',
    }),
    brokerVersion: t.exposeString('brokerVersion', { description: 'In the broker’s words.', nullable: true }),
    uptimeSeconds: t.expose('uptimeSeconds', {
      type: 'SafeInt',
      description: 'Time since the broker started.',
      nullable: true,
    }),
    clients: t.expose('clients', { description: 'Numbers of clients.', type: COUNT_TYPES.clients }),
    messages: t.expose('messages', {
      description: 'Packets of all types, and stored messages.',
      type: COUNT_TYPES.messages,
    }),
    publish: t.expose('publish', { description: 'Messages published and delivered.', type: COUNT_TYPES.publish }),
    bytes: t.expose('bytes', { description: 'Network traffic with clients.', type: COUNT_TYPES.bytes }),
    heap: t.expose('heap', { description: 'Memory of the broker.', type: COUNT_TYPES.heap }),
    subscriptions: t.expose('subscriptions', {
      type: 'SafeInt',
      description: 'Subscriptions of all sessions now.',
      nullable: true,
    }),
    sharedSubscriptions: t.expose('sharedSubscriptions', {
      type: 'SafeInt',
      description: 'Shared subscriptions (`$share/`) of all sessions now.',
      nullable: true,
    }),
    retainedMessages: t.expose('retainedMessages', {
      type: 'SafeInt',
      description:
        'Number of retained messages, as the broker counts them. Mosquitto includes those of `$SYS`, which `retainedMessages` of a broker does not list.',
      nullable: true,
    }),
    load: t.expose('load', { description: 'Averages that the broker computes.', type: Load }),
    rates: t.expose('rates', { description: 'Rates that this service computes.', type: Rates }),
  }),
});

const REFUSED_TOPICS =
  'the topics below $SYS that the broker does not let this service read, and the permissions that its account needs. They are subscribed again when access control changes, and every 15 seconds. Null if the broker has refused none.';

builder.interfaceFields(Broker, (t) => ({
  currentMetrics: t.field({
    description:
      'The last metrics that the broker published, also while it is unreachable. If the broker represents a cluster, those of the node in `clusterNode`. Null, with an error, if it is unreachable and has published none yet.',
    type: BrokerMetricsType,
    nullable: true,
    resolve: (broker, _args, { services }) => services.metrics.of(broker),
  }),
  metricsReason: t.string({
    description: `Why current metrics are missing: ${REFUSED_TOPICS}`,
    nullable: true,
    resolve: (broker, _args, { services }) => services.metrics.reason(broker),
  }),
}));

const MetricsEvent = builder.objectRef<BrokerMetricsEvent>('BrokerMetricsEvent').implement({
  description:
    'The first event has the current numbers. Further events are sent when the broker publishes numbers or its connection changes.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    isConnected: t.boolean({
      description: 'Whether this service is connected to the broker. SNAPSHOT and CHANGE only.',
      nullable: true,
      resolve: (event) => stateIn(event)?.isConnected ?? null,
    }),
    metrics: t.field({
      description:
        'SNAPSHOT, CHANGE: the current numbers, or the last ones while the broker is unreachable. Null if it has published none yet.',
      type: BrokerMetricsType,
      nullable: true,
      resolve: (event) => stateIn(event)?.metrics ?? null,
    }),
    reason: t.string({
      description: `SNAPSHOT, CHANGE: why metrics are missing: ${REFUSED_TOPICS}`,
      nullable: true,
      resolve: (event) => stateIn(event)?.reason ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  brokerMetrics: t.field({
    description: resumable(
      'The numbers of a broker, live. Starts even if the broker is unreachable, continues when its settings change, and ends when the broker is removed.',
    ),
    type: MetricsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'A broker in a project where the caller has VIEWER.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) => context.services.metrics.watch(broker, { signal, after })),
    resolve: (event) => event,
  }),
}));

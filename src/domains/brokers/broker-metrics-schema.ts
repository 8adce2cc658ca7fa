import { builder, onBroker } from '../../gateway/graphql/builder.ts';
import { guarded } from '../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../gateway/graphql/live-event.ts';
import { stateIn } from '../../gateway/live/broadcast.ts';
import { invalid } from '../../platform/errors.ts';
import type {
  BrokerMetrics,
  BrokerNumbers,
  COUNT_NAMES,
  CountGroup,
  LOAD_NAMES,
  RATE_NAMES,
} from './broker-metrics.ts';
import type { BrokerMetricsEvent } from './broker-metrics-feed.ts';
import { Broker } from './broker-schema.ts';

/** One nullable number for each name of `meanings`; Float, because counters pass 2^31. */
function numbersType<Name extends string>(name: string, description: string, meanings: Readonly<Record<Name, string>>) {
  return builder.objectRef<{ readonly [Key in Name]: number | null }>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        (Object.keys(meanings) as Name[]).map((key) => [
          key,
          t.float({ description: meanings[key], nullable: true, resolve: (numbers) => numbers[key] }),
        ]),
      ),
  });
}

type MeaningOf<Group extends CountGroup> = Readonly<Record<(typeof COUNT_NAMES)[Group][number], string>>;

const COUNT_TYPES = {
  clients: numbersType(
    'BrokerClientCounts',
    'Sessions of clients; persistent ones are there while disconnected. Null: this broker does not tell it.',
    {
      connected: 'Clients that are connected.',
      disconnected: 'Persistent sessions whose client is away.',
      total: 'Sessions of either kind.',
      maximum: 'Most that were connected at once since the broker started.',
      expired: 'Persistent sessions that ended because their client stayed away, since the broker started.',
    } satisfies MeaningOf<'clients'>,
  ),
  messages: numbersType(
    'BrokerMessageCounts',
    'MQTT packets of all kinds since the broker started, and the messages that it holds now. Null: this broker does not tell it.',
    {
      received: 'Packets from clients.',
      sent: 'Packets to clients.',
      stored: 'Messages held for clients now; Mosquitto counts retained ones, too.',
      storedBytes: 'Bytes of their payloads.',
    } satisfies MeaningOf<'messages'>,
  ),
  publish: numbersType(
    'BrokerPublishCounts',
    'PUBLISH packets, and bytes of their payloads, since the broker started. Null: this broker does not tell it.',
    {
      received: 'Messages that clients published.',
      sent: 'Messages delivered, once for each client that got one.',
      dropped: 'Messages that were not delivered: a queue was full, or a right was missing.',
      bytesReceived: 'Bytes of payloads that clients published.',
      bytesSent: 'Bytes of payloads delivered.',
    } satisfies MeaningOf<'publish'>,
  ),
  bytes: numbersType(
    'BrokerByteCounts',
    'Bytes on the network since the broker started. Null: this broker does not tell it.',
    { received: 'Bytes read from clients.', sent: 'Bytes written to clients.' } satisfies MeaningOf<'bytes'>,
  ),
  heap: numbersType('BrokerHeap', 'Bytes of memory, told by brokers that were built to count them; else null.', {
    current: 'In use now.',
    maximum: 'Most in use at once since the broker started.',
  } satisfies MeaningOf<'heap'>),
} satisfies Record<CountGroup, unknown>;

const LoadAverages = numbersType(
  'BrokerLoadAverages',
  'Per minute, averaged by the broker. Null: this broker does not tell it.',
  {
    messagesReceived: 'MQTT packets of all kinds from clients.',
    messagesSent: 'MQTT packets of all kinds to clients.',
    publishReceived: 'Messages that clients published.',
    publishSent: 'Messages delivered.',
    publishDropped: 'Messages that were not delivered.',
    bytesReceived: 'Bytes read from clients.',
    bytesSent: 'Bytes written to clients.',
    sockets: 'Sockets opened.',
    connections: 'CONNECT packets.',
  } satisfies Record<(typeof LOAD_NAMES)[number], string>,
);

const Load = builder.objectRef<BrokerNumbers['load']>('BrokerLoad').implement({
  description: 'Averages over the last minutes.',
  fields: (t) => ({
    one: t.expose('one', { description: 'Over the last minute.', type: LoadAverages }),
    five: t.expose('five', { description: 'Over the last five minutes.', type: LoadAverages }),
    fifteen: t.expose('fifteen', { description: 'Over the last fifteen minutes.', type: LoadAverages }),
  }),
});

const Rates = numbersType(
  'BrokerRates',
  'Counted by this service between the last two times that the broker told its counters. Null until there are two of one connection, and where a counter began anew.',
  {
    messagesReceivedPerSecond: 'MQTT packets of all kinds from clients.',
    messagesSentPerSecond: 'MQTT packets of all kinds to clients.',
    publishReceivedPerSecond: 'Messages that clients published.',
    publishSentPerSecond: 'Messages delivered.',
    publishDroppedPerSecond: 'Messages that were not delivered.',
    publishBytesReceivedPerSecond: 'Bytes of payloads that clients published.',
    publishBytesSentPerSecond: 'Bytes of payloads delivered.',
    bytesReceivedPerSecond: 'Bytes read from clients.',
    bytesSentPerSecond: 'Bytes written to clients.',
  } satisfies Record<(typeof RATE_NAMES)[number], string>,
);

const BrokerMetricsType = builder.objectRef<BrokerMetrics>('BrokerMetrics').implement({
  description: 'The numbers that a broker tells of itself below $SYS. Null: this broker does not tell it.',
  fields: (t) => ({
    asOf: t.field({
      description: 'When the last value came.',
      type: 'DateTime',
      resolve: ({ asOf }) => new Date(asOf),
    }),
    ageSeconds: t.float({
      description: 'Time since `asOf`, when this was written.',
      resolve: ({ asOf }) => Math.max(0, Date.now() - asOf) / 1_000,
    }),
    isStale: t.exposeBoolean('isStale', {
      description:
        'The broker is not connected, or told nothing for three times as long as it usually takes (30 seconds at least).',
    }),
    brokerVersion: t.exposeString('brokerVersion', { description: 'In the broker’s words.', nullable: true }),
    uptimeSeconds: t.exposeFloat('uptimeSeconds', { description: 'Since the broker started.', nullable: true }),
    clients: t.expose('clients', { description: 'How many clients it has.', type: COUNT_TYPES.clients }),
    messages: t.expose('messages', {
      description: 'Packets of all kinds, and messages held.',
      type: COUNT_TYPES.messages,
    }),
    publish: t.expose('publish', { description: 'Messages published and delivered.', type: COUNT_TYPES.publish }),
    bytes: t.expose('bytes', { description: 'Traffic with its clients.', type: COUNT_TYPES.bytes }),
    heap: t.expose('heap', { description: 'Memory that it uses.', type: COUNT_TYPES.heap }),
    subscriptions: t.exposeFloat('subscriptions', {
      description: 'Subscriptions of all sessions now.',
      nullable: true,
    }),
    sharedSubscriptions: t.exposeFloat('sharedSubscriptions', {
      description: 'Those of them with `$share/`.',
      nullable: true,
    }),
    retainedMessages: t.exposeFloat('retainedMessages', {
      description: 'Topics with a retained message now.',
      nullable: true,
    }),
    load: t.expose('load', { description: 'How busy it was, by its own averages.', type: Load }),
    rates: t.expose('rates', { description: 'How busy it is, counted by this service.', type: Rates }),
  }),
});

/** As many as are kept. */
const MAX_HISTORY = 60;

builder.interfaceFields(Broker, (t) => ({
  metrics: t.field({
    description:
      'What the broker told last, also while it is away; of the entry that stands for a cluster what the node told by which it is reached (`clusterNode`), from when it is. Null, with an error, when it cannot be asked and told nothing yet.',
    type: BrokerMetricsType,
    nullable: true,
    resolve: (broker, _args, { services }) => services.metrics.of(broker),
  }),
  metricsHistory: t.field({
    description:
      'Samples of the last ten minutes or more, at most one in nine seconds, oldest first; their rates are averages since the sample before.',
    type: [BrokerMetricsType],
    args: {
      last: t.arg.int({ defaultValue: MAX_HISTORY, required: true, description: 'The newest so many, 60 at most.' }),
    },
    complexity: ({ last }) => ({ field: 1, multiplier: Math.max(0, Math.min(last, MAX_HISTORY)) }),
    resolve: (broker, { last }, { services }) => {
      if (last < 0) throw invalid([{ path: 'last', reason: 'must not be negative' }]);
      return last === 0 ? [] : services.metrics.history(broker).slice(-last);
    },
  }),
}));

const MetricsEvent = builder.objectRef<BrokerMetricsEvent>('BrokerMetricsEvent').implement({
  description:
    'First the numbers as they are, then one event each time that the broker tells some, or its connection changes.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    isConnected: t.boolean({
      description: 'Whether this service is connected to the broker. SNAPSHOT and CHANGE only.',
      nullable: true,
      resolve: (event) => stateIn(event)?.isConnected ?? null,
    }),
    metrics: t.field({
      description:
        'SNAPSHOT, CHANGE: all of them, the last told ones while the broker is away. Null: it told nothing yet.',
      type: BrokerMetricsType,
      nullable: true,
      resolve: (event) => stateIn(event)?.metrics ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  brokerMetrics: t.field({
    description:
      'The numbers of a broker. Opens also while the broker is away, goes on when its settings change, and ends when it is removed.',
    type: MetricsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'Of a broker in a project where the caller has VIEWER.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) => {
      const { services } = context;
      return guarded(
        context,
        (viewer) => services.brokers.visible(brokerId, viewer),
        (signal) => services.metrics.watch(services.brokers.visible(brokerId, context.viewer), { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
}));

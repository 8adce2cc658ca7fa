import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import type {
  LastPublisher,
  TopicMeasure,
  TrafficMeasure,
  TrafficWindow,
} from '../../../protocol/apis/clients/traffic-control.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { TopListView } from './traffic-service.ts';

const PUBLISHED = {
  MESSAGES_IN: { description: 'Messages that clients published.' },
  BYTES_IN: { description: 'Payload bytes of messages that clients published.' },
} as const satisfies Readonly<Record<TopicMeasure, object>>;

const TrafficMeasureType = builder.enumType('TrafficMeasure', {
  description: 'What is counted of a client.',
  values: {
    ...PUBLISHED,
    MESSAGES_OUT: { description: 'Messages that the broker sent to the client.' },
    BYTES_OUT: { description: 'Payload bytes of messages that the broker sent to the client.' },
  } as const satisfies Readonly<Record<TrafficMeasure, object>>,
});

const TopicMeasureType = builder.enumType('TopicTrafficMeasure', {
  description: 'What is counted of a topic.',
  values: PUBLISHED,
});

const TrafficWindowType = describedEnum<TrafficWindow>('TrafficWindow', 'A time that ends now.', {
  MINUTE: 'The last minute, in steps of ten seconds.',
  HOUR: 'The last hour, in steps of five minutes.',
});

interface TopEntry {
  readonly name: string;
  readonly count: number;
  readonly perSecond: number;
}

const TopEntryType = builder.objectRef<TopEntry>('TopTrafficEntry').implement({
  description: 'A client or a topic, and its traffic.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The client id, or the topic or its first levels.' }),
    count: t.expose('count', {
      description: 'At least this much. The true total is at most `maxError` higher.',
      type: 'SafeInt',
    }),
    perSecond: t.exposeFloat('perSecond', { description: '`count` by the seconds between `from` and `to`.' }),
  }),
});

const TopTrafficType = builder.objectRef<TopListView>('TopTraffic').implement({
  ...withBroker,
  description:
    'The clients or topics with the most traffic, counted by the broker itself in bounded memory. Counting begins with the start of the broker.',
  fields: (t) => ({
    entries: t.field({
      description: 'The largest first.',
      type: [TopEntryType],
      resolve: ({ entries, from, to }) =>
        entries.map(({ name, count }) => ({ name, count, perSecond: (count * 1_000) / Math.max(to - from, 1_000) })),
    }),
    total: t.expose('total', { description: 'What all clients or topics have together.', type: 'SafeInt' }),
    maxError: t.expose('maxError', {
      description:
        'How much is missing in each count at most, and how much a client or topic that is missing may have at most. 0: nothing is missing.',
      type: 'SafeInt',
    }),
    isComplete: t.boolean({
      description: 'Whether the counts are exact and no client or topic with more traffic is missing.',
      resolve: ({ maxError }) => maxError === 0,
    }),
    from: knownTimeField(
      t,
      'When counting of this list began: up to a step earlier than requested, or the start of the broker.',
      ({ from }) => from,
    ),
    to: knownTimeField(t, 'The end of the time.', ({ to }) => to),
  }),
});

const LastPublisherType = builder.objectRef<LastPublisher>('LastPublisher').implement({
  description: 'The client that published to a topic last.',
  fields: (t) => ({
    clientId: t.exposeString('clientId', { description: 'The MQTT client id.' }),
    at: knownTimeField(t, 'The time of the message, exact to ten seconds.', ({ at }) => at),
  }),
});

const FIRST = { description: 'Maximum number of entries. At most 100.', defaultValue: 10 } as const;
const UNSUPPORTED =
  'Error NOT_SUPPORTED_BY_BROKER if the broker does not count it, which only the embedded broker does.';

builder.interfaceFields(Broker, (t) => ({
  topClients: t.field({
    description: `The clients with the most traffic. ${UNSUPPORTED}`,
    type: TopTrafficType,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: {
      by: t.arg({ description: 'What is compared.', type: TrafficMeasureType, required: true }),
      last: t.arg({ description: 'The time that counts.', type: TrafficWindowType, required: true }),
      first: t.arg.int(FIRST),
    },
    resolve: (broker, args, { services }) => services.traffic.topClients(broker, args),
  }),
  topTopics: t.field({
    description: `The topics with the most messages of clients. ${UNSUPPORTED}`,
    type: TopTrafficType,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: {
      by: t.arg({ description: 'What is compared.', type: TopicMeasureType, required: true }),
      last: t.arg({ description: 'The time that counts.', type: TrafficWindowType, required: true }),
      levels: t.arg.int({
        description: 'Counts topics with the same first levels together: 1 to 3. Default: each topic by itself.',
      }),
      first: t.arg.int(FIRST),
    },
    resolve: (broker, args, { services }) => services.traffic.topTopics(broker, args),
  }),
  lastPublisher: t.field({
    description: `The client that published to a topic last. null: none did since the start of the broker, or 10,000 other topics had messages since. ${UNSUPPORTED}`,
    type: LastPublisherType,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { topic: t.arg.string({ description: 'The topic name.', required: true }) },
    resolve: (broker, { topic }, { services }) => services.traffic.lastPublisher(broker, topic),
  }),
}));

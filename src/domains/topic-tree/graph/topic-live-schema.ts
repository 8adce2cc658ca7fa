import type { RecordedTopic, TopicKind } from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { TopicChange, TopicEvent } from '../live/topic-feed.ts';
import { selectsPayloads, Topic, TopicKindType, topicNodeId } from './topic-schema.ts';
import { TopicTreeState } from './topic-tree-schema.ts';

interface TopicsEventView extends Partial<TopicChange> {
  readonly event: TopicEvent;
  readonly broker: BrokerRecord;
  readonly kind: TopicKind;
}

/** Assumed number of topics per event, for the cost of a subscription. */
const USUAL_EVENT = 50;
const STATES = 'SNAPSHOT, CHANGE';

const viewsOf = ({ broker, kind }: TopicsEventView, topics: readonly RecordedTopic[] = []) =>
  topics.map((recorded) => ({ broker, nodeId: null, kind, ...recorded }));

const TopicsEvent = builder.objectRef<TopicsEventView>('TopicsEvent').implement({
  ...withBroker,
  description:
    'The first event has the counts. Each further event has the changed topics, at most twice per second. After a GAP, and after any SNAPSHOT except the first, clients must read their lists again.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    state: t.field({
      description: `${STATES}: the state of the recording, read every few seconds.`,
      type: TopicTreeState,
      nullable: true,
      resolve: ({ recording }) => recording?.state ?? null,
    }),
    reason: t.string({
      description: `${STATES}: why topics are missing, and what would help. Null if there is no problem.`,
      nullable: true,
      resolve: ({ recording }) => recording?.reason ?? null,
    }),
    count: t.exposeInt('count', {
      description: `${STATES}: number of listed topics of this kind, below the prefix or not.`,
      nullable: true,
    }),
    leftOut: t.expose('leftOut', {
      type: 'SafeInt',
      description: `${STATES}: number of uses of topics that are not listed because of a limit, since the recording began.`,
      nullable: true,
    }),
    isTruncated: t.exposeBoolean('isTruncated', {
      description: `${STATES}: whether a limit excludes topics now, or did within the last TTL.`,
      nullable: true,
    }),
    added: t.field({
      description: 'CHANGE: topics that are listed for the first time, or again.',
      type: [Topic],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: (view) => viewsOf(view, view.added),
    }),
    changed: t.field({
      description: 'CHANGE: topics that were used again, the most recently used first.',
      type: [Topic],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: (view) => viewsOf(view, view.changed),
    }),
    expired: t.stringList({
      description: 'CHANGE: topics that are no longer listed.',
      resolve: ({ expired = [] }) => [...expired],
    }),
    expiredIds: t.idList({
      description: 'CHANGE: the `id` of each of `expired`.',
      resolve: ({ broker, kind, expired = [] }) => expired.map((topic) => topicNodeId({ broker, kind, topic })),
    }),
    addedLeftOut: t.int({
      description: 'CHANGE: number of added topics that are not in `added`.',
      resolve: ({ addedLeftOut = 0 }) => addedLeftOut,
    }),
    changedLeftOut: t.int({
      description: 'CHANGE: number of changed topics that are not in `changed`.',
      resolve: ({ changedLeftOut = 0 }) => changedLeftOut,
    }),
    expiredLeftOut: t.int({
      description: 'CHANGE: number of expired topics that are not in `expired`.',
      resolve: ({ expiredLeftOut = 0 }) => expiredLeftOut,
    }),
    isConnected: t.exposeBoolean('isConnected', {
      description: `${STATES}: whether this service is connected to the broker. While it is not, recorded topics stay listed until they expire.`,
      nullable: true,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  topics: t.field({
    description: resumable(
      'The changes of the topics of a broker, live. Topics are recorded while a client subscribes to them. Payloads require the EDITOR role, as in queries.',
    ),
    type: TopicsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'A broker that the caller can see.', required: true }),
      kind: t.arg({
        type: TopicKindType,
        defaultValue: 'PUBLISHED',
        description: 'The kind of topics. NOT_SUPPORTED_BY_BROKER for SUBSCRIBED if subscriptions cannot be observed.',
      }),
      prefix: t.arg.string({ description: 'Only changes of this topic and of the topics below it, by whole levels.' }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, kind, prefix, after }, context, info) => {
      const input = { kind, prefix, withPayloads: selectsPayloads(info) };
      return guardedBroker(context, brokerId, (broker, signal) =>
        context.services.topics.watch({ broker, nodeId: null }, input, { signal, after }),
      );
    },
    resolve: (event, { brokerId, kind }, { services, viewer }) => ({
      ...stateIn(event),
      event,
      kind: kind ?? 'PUBLISHED',
      broker: services.brokers.visible(brokerId, viewer),
    }),
  }),
}));

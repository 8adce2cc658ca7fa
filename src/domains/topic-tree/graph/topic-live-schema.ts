import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { TopicChange, TopicEvent } from '../live/topic-feed.ts';
import type { RecordedTopic } from '../model/topic-recorder.ts';
import { asksForPayloads, Topic, TopicKindType } from './topic-schema.ts';
import { TopicTreeState } from './topic-tree-schema.ts';

interface ToldEvent {
  readonly event: TopicEvent;
  readonly broker: BrokerRecord;
}

/** Assumed number of topics per event, for the cost of a subscription. */
const USUAL_EVENT = 50;
const TOLD = 'SNAPSHOT, CHANGE';

const listOf = ({ event, broker }: ToldEvent, read: (change: TopicChange) => readonly RecordedTopic[]) => {
  const change = stateIn(event);
  return change === null ? [] : read(change).map((recorded) => ({ broker, nodeId: null, recorded }));
};

const TopicsEvent = builder.objectRef<ToldEvent>('TopicsEvent').implement({
  description:
    'First how many topics there are, then which became different; of a short time in one event, at most two a second. After a GAP, and at any other SNAPSHOT than the first, lists that were read before are to be read again.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    state: t.field({
      description: `${TOLD}: of the recording; looked at every few seconds.`,
      type: TopicTreeState,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.recording?.state ?? null,
    }),
    reason: t.string({
      description: `${TOLD}: why topics are missing, and what would help; null: nothing is wrong.`,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.recording?.reason ?? null,
    }),
    count: t.int({
      description: `${TOLD}: topics of this kind that are listed, below the prefix or not.`,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.count ?? null,
    }),
    leftOut: t.float({
      description: `${TOLD}: uses of topics that are not listed because of a limit, since the recording began.`,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.leftOut ?? null,
    }),
    isTruncated: t.boolean({
      description: `${TOLD}: a limit keeps topics out now, or did within the last TTL.`,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.isTruncated ?? null,
    }),
    added: t.field({
      description: 'CHANGE: topics that are listed for the first time, or again.',
      type: [Topic],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: (told) => listOf(told, ({ added }) => added),
    }),
    changed: t.field({
      description: 'CHANGE: topics that were used again, those used last first.',
      type: [Topic],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: (told) => listOf(told, ({ changed }) => changed),
    }),
    expired: t.stringList({
      description: 'CHANGE: topics that are not listed any more.',
      resolve: ({ event }) => [...(stateIn(event)?.expired ?? [])],
    }),
    addedLeftOut: t.int({
      description: 'CHANGE: how many more were added than `added` has.',
      resolve: ({ event }) => stateIn(event)?.addedLeftOut ?? 0,
    }),
    changedLeftOut: t.int({
      description: 'CHANGE: how many more were used again than `changed` has.',
      resolve: ({ event }) => stateIn(event)?.changedLeftOut ?? 0,
    }),
    expiredLeftOut: t.int({
      description: 'CHANGE: how many more have gone than `expired` has.',
      resolve: ({ event }) => stateIn(event)?.expiredLeftOut ?? 0,
    }),
    isConnected: t.boolean({
      description: `${TOLD}: whether this service is connected to the broker; while not, what was recorded stays, and expires.`,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  topics: t.field({
    description:
      'How the topics of a broker change, live. While somebody follows them they are recorded. Payloads are for editors, as in queries.',
    type: TopicsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'A broker that the caller sees.', required: true }),
      kind: t.arg({
        type: TopicKindType,
        defaultValue: 'PUBLISHED',
        description: 'Which topics. NOT_SUPPORTED_BY_BROKER for SUBSCRIBED where subscriptions cannot be seen.',
      }),
      prefix: t.arg.string({ description: 'Only changes of this topic and those below it, by whole levels.' }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, kind, prefix, after }, context, info) => {
      const { services, viewer } = context;
      const broker = services.brokers.visible(brokerId, viewer);
      const input = { kind, prefix, withPayloads: asksForPayloads(info) };
      return guarded(
        context,
        (current) => services.brokers.visible(brokerId, current),
        (signal) => services.topics.watch({ broker, nodeId: null }, input, { signal, after }),
      );
    },
    resolve: (event, { brokerId }, { services, viewer }) => ({
      event,
      broker: services.brokers.visible(brokerId, viewer),
    }),
  }),
}));

import type { RecorderState } from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import type { TopicSettings } from '../../../data-plane/topic-tree/model/topic-settings.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { timeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import { countsOf, kindsIn, reasonOf, type TopicTreeView } from '../topic-view.ts';
import { IN_ORDER, levelsOf, TopicLevel, TopicLevelConnection } from './topic-level-schema.ts';
import { kindArgument, Topic, TopicKindType } from './topic-schema.ts';

export const TopicTreeState = describedEnum<RecorderState>('TopicTreeState', 'Whether topics are recorded.', {
  STOPPED: 'No client has requested topics for some time.',
  STARTING: 'The broker has not responded yet.',
  RECORDING: 'All selected topics are recorded.',
  DENIED: 'The broker refuses filters, see `deniedFilters`. Topics of the allowed filters are recorded.',
  UNREACHABLE: 'The broker cannot be reached. Recorded topics stay listed until they expire.',
});

const oneKind = { type: TopicKindType, description: 'Only topics of this kind. Default: both kinds.' } as const;
export const PREFIX =
  'Only this topic and the topics below it, by whole levels: `plant/line1` does not select `plant/line10`.';
export const UNSEEN = 'Null for SUBSCRIBED if subscriptions cannot be observed: see `unavailable`.';

const Unavailable = builder.objectRef<{ readonly subscribed: string }>('TopicTreeUnavailable').implement({
  description: 'Why topics cannot be recorded, and what would help.',
  fields: (t) => ({
    subscribed: t.exposeString('subscribed', { description: 'Why topics of subscriptions cannot be recorded.' }),
  }),
});

const TopicTreeSettingsType = builder.objectRef<TopicSettings>('TopicTreeSettings').implement({
  description: 'Settings of the recording of topics.',
  fields: (t) => ({
    ttl: t.exposeInt('ttlSeconds', {
      description: 'Number of seconds that a topic stays listed after its last use.',
    }),
    filters: t.stringList({
      description: 'Only topics that match one of these are recorded. Empty: all topics that do not begin with `$`.',
      resolve: ({ filters }) => [...filters],
    }),
    excludedFilters: t.stringList({
      description: 'Topics that match one of these are not recorded.',
      resolve: ({ excludedFilters }) => [...excludedFilters],
    }),
    publishLimit: t.exposeInt('publishLimit', {
      description:
        'Maximum number of listed topics of messages. Beyond it, new topics are only counted until others have expired.',
    }),
    subscribeLimit: t.exposeInt('subscribeLimit', { description: 'Maximum number of listed topics of subscriptions.' }),
    payloadLimit: t.exposeInt('payloadLimit', {
      description: 'Number of bytes that are stored of each topic’s last payload. 0: none.',
    }),
    isAlwaysOn: t.exposeBoolean('isAlwaysOn', {
      description: 'Whether topics are recorded even while no client requests them.',
    }),
  }),
});

export const TopicTree = builder.objectRef<TopicTreeView>('TopicTree').implement({
  ...withBroker,
  description:
    'The topics of a broker that were used within the TTL. The recording starts with the first request, and stops some time after the last one. If the nodes of a cluster have their own topics, and it is not a high-performance cluster, the tree combines all nodes. Counts are then sums over the nodes: a topic that two nodes list counts twice.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', {
      description: 'The cluster node whose topics these are. Null for a broker, and for all nodes of a cluster.',
      nullable: true,
    }),
    state: t.expose('state', { description: 'Whether topics are recorded.', type: TopicTreeState }),
    reason: t.string({
      description: 'The problem or the missing topics, and what would help. Null if there is no problem.',
      nullable: true,
      resolve: reasonOf,
    }),
    since: timeField(t, 'Start of the recording. Null if it has not started.', ({ since }) => since),
    asOf: timeField(
      t,
      'Time until which uses of topics are known: the time of the response, of the loss of the connection, or of the last reading. Null if nothing is known yet.',
      ({ asOf }) => asOf,
    ),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'Whether all topics that were used within the TTL are listed. False for a TTL after the recording began, also after another process took it over, and after the connection was lost; and while a filter is refused or a limit excludes topics. Null if the broker records its topics itself.',
      nullable: true,
    }),
    deniedFilters: t.stringList({
      description: 'Filters that the broker does not allow this service to subscribe to.',
      resolve: ({ deniedFilters }) => [...deniedFilters],
    }),
    unavailable: t.field({
      description: 'What cannot be recorded at this broker. Null if everything can be recorded.',
      type: Unavailable,
      nullable: true,
      resolve: ({ subscribed, subscribedReason }) =>
        subscribed === null ? { subscribed: subscribedReason ?? 'Not known yet' } : null,
    }),
    memoryBytes: t.expose('memoryBytes', { type: 'SafeInt', description: 'Memory of the recording.' }),
    messages: t.expose('messages', {
      type: 'SafeInt',
      description: 'Number of recorded messages since the recording began.',
    }),
    reportsRetain: t.exposeBoolean('tellsRetain', {
      description:
        'Whether `retain` of topics is also true for live messages. If false, it is true only for messages that were retained before the recording began.',
    }),
    hasPayloads: t.boolean({
      description: 'Whether the caller may read payloads, and the project stores them.',
      resolve: (tree, _args, { services, viewer }) => services.topics.mayReadPayloads(tree, viewer),
    }),
    droppedByBroker: t.expose('droppedByBroker', {
      type: 'SafeInt',
      description:
        'Number of messages that the broker dropped since the recording began, for any client that reads too slowly: topics may be missing. Null if the broker does not report it, or records its topics itself.',
      nullable: true,
    }),
    count: t.int({
      description: `Number of listed topics. ${UNSEEN}`,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: { kind: t.arg(kindArgument), prefix: t.arg.string({ description: PREFIX }) },
      resolve: async (tree, { kind, prefix }, context) => {
        const counts = countsOf(tree, kind ?? 'PUBLISHED');
        if (counts === null || prefix == null) return counts?.count ?? null;
        return (await mayQueryBroker(context, false)) ? context.services.topics.count(tree, { kind, prefix }) : null;
      },
    }),
    leftOut: t.field({
      type: 'SafeInt',
      description: 'Number of uses of topics that are not listed because of a limit, since the recording began.',
      args: { kind: t.arg(oneKind) },
      resolve: (tree, { kind }) => kindsIn(tree, kind).reduce((sum, { leftOut }) => sum + leftOut, 0),
    }),
    isTruncated: t.boolean({
      description: 'Whether a limit excludes topics now, or did within the last TTL.',
      args: { kind: t.arg(oneKind) },
      resolve: (tree, { kind }) => kindsIn(tree, kind).some(({ isTruncated }) => isTruncated),
    }),
    children: t.connection(
      {
        description: `The levels directly below \`of\`, or the first levels of all topics, ${IN_ORDER} ${UNSEEN}`,
        type: TopicLevel,
        nullable: true,
        complexity: pageCost,
        args: {
          of: t.arg.string({ description: '`topic` of the parent level. Default: the first levels.' }),
          kind: t.arg(kindArgument),
        },
        resolve: async (tree, args, context, info) => {
          const kind = args.kind ?? 'PUBLISHED';
          if (countsOf(tree, kind) === null || !(await mayQueryBroker(context, false))) return null;
          return levelsOf(tree, { ...args, kind, of: args.of ?? null }, context, info);
        },
      },
      TopicLevelConnection,
    ),
    topic: t.field({
      description: 'A single topic. Null if it is not listed.',
      type: Topic,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: {
        topic: t.arg.string({ description: 'The whole topic or topic filter.', required: true }),
        kind: t.arg(kindArgument),
      },
      resolve: async (tree, { topic, kind }, context) => {
        const known = kind ?? 'PUBLISHED';
        if (countsOf(tree, known) === null || !(await mayQueryBroker(context, false))) return null;
        return context.services.topics.find(tree, known, topic);
      },
    }),
    settings: t.field({
      description: 'Settings of the recording.',
      type: TopicTreeSettingsType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (tree, _args, context) =>
        (await mayQueryBroker(context, false)) ? context.services.topics.settings(tree) : null,
    }),
  }),
});

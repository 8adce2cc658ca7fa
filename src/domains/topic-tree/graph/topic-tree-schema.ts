import { builder } from '../../../gateway/graphql/builder.ts';
import { selects } from '../../../gateway/graphql/document.ts';
import { BROKER_QUERY_COST, COUNTED_BY_PAGE, pageCost, SEARCH_COST } from '../../../gateway/graphql/page-cost.ts';
import { mayQueryBroker, mayReturnText, walk } from '../../../gateway/graphql/walk-limit.ts';
import type { RecorderState } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';
import { countsOf, kindsIn, reasonOf, type TopicTreeView } from '../topic-view.ts';
import { IN_ORDER, levelsOf, TopicLevel, TopicLevelConnection } from './topic-level-schema.ts';
import { asksForPayloads, kindArgument, Topic, TopicKindType } from './topic-schema.ts';

export const TopicTreeState = builder.enumType('TopicTreeState', {
  description: 'Whether topics are recorded.',
  values: {
    STOPPED: { description: 'Nobody has asked for a while.' },
    STARTING: { description: 'The broker has not answered yet.' },
    RECORDING: { description: 'All that is wanted is recorded.' },
    DENIED: { description: 'The broker refuses filters, see `deniedFilters`; what it allows is recorded.' },
    UNREACHABLE: { description: 'The broker is away. What was recorded stays, and expires.' },
  } as const satisfies Record<RecorderState, object>,
});

const oneKind = { type: TopicKindType, description: 'Only these. Left out: of both kinds.' } as const;
const PREFIX =
  'Only this topic and those below it, by whole levels: `plant/line1` is not the beginning of `plant/line10`.';
const UNSEEN = 'Null for SUBSCRIBED where subscriptions cannot be seen: `unavailable` says why.';

const Unavailable = builder.objectRef<{ readonly subscribed: string }>('TopicTreeUnavailable').implement({
  description: 'Why something cannot be recorded, and what would help.',
  fields: (t) => ({ subscribed: t.exposeString('subscribed', { description: 'Topics of subscriptions.' }) }),
});

const TopicTreeSettingsType = builder.objectRef<TopicSettings>('TopicTreeSettings').implement({
  description: 'How the topics of a broker are recorded.',
  fields: (t) => ({
    ttl: t.int({
      description: 'Seconds that a topic stays listed after its last use.',
      resolve: ({ ttlSeconds }) => ttlSeconds,
    }),
    filters: t.stringList({
      description: 'Only topics that match one of these are recorded. Empty: all that do not begin with `$`.',
      resolve: ({ filters }) => [...filters],
    }),
    excludedFilters: t.stringList({
      description: 'Of those, topics that match one of these are left out.',
      resolve: ({ excludedFilters }) => [...excludedFilters],
    }),
    publishLimit: t.exposeInt('publishLimit', {
      description: 'Topics of messages that are listed at most; others are counted until some have expired.',
    }),
    subscribeLimit: t.exposeInt('subscribeLimit', { description: 'The same, for topics of subscriptions.' }),
    payloadLimit: t.exposeInt('payloadLimit', {
      description: 'Bytes that are kept of each topic’s last payload; 0: none.',
    }),
    isAlwaysOn: t.exposeBoolean('isAlwaysOn', { description: 'Topics are recorded also while nobody asks.' }),
  }),
});

export const TopicTree = builder.objectRef<TopicTreeView>('TopicTree').implement({
  description:
    'The topics of a broker that were used within the TTL. They are recorded from the first question on, until nobody has asked for a while. Of a cluster whose nodes have topics of their own, and are no high-performance cluster: those of all nodes, where counts are sums over the nodes (a topic that two of them list counts twice).',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', {
      description: 'Of the node of a cluster that it is the tree of; null: of a broker, or of all nodes of a cluster.',
      nullable: true,
    }),
    state: t.field({
      description: 'Whether topics are recorded.',
      type: TopicTreeState,
      resolve: ({ status }) => status.state,
    }),
    reason: t.string({
      description: 'What is wrong, or may be missing, and what would help; null: nothing is.',
      nullable: true,
      resolve: reasonOf,
    }),
    since: t.field({
      description: 'Since when topics are recorded; null: not yet.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ status: { since } }) => (since === null ? null : new Date(since)),
    }),
    deniedFilters: t.stringList({
      description: 'What the broker does not let this service subscribe to.',
      resolve: ({ status }) => [...status.deniedFilters],
    }),
    unavailable: t.field({
      description: 'What cannot be recorded at this broker; null: nothing.',
      type: Unavailable,
      nullable: true,
      resolve: ({ status: { subscribed, subscribedReason } }) =>
        subscribed === null ? { subscribed: subscribedReason ?? 'Not known yet' } : null,
    }),
    memoryBytes: t.float({ description: 'What the recording takes.', resolve: ({ status }) => status.memoryBytes }),
    messages: t.float({
      description: 'Messages that were recorded since it began.',
      resolve: ({ status }) => status.messages,
    }),
    tellsRetain: t.boolean({
      description: '`retain` of topics is true for live messages, too; else only for those kept before it began.',
      resolve: ({ status }) => status.tellsRetain,
    }),
    tellsPayloads: t.boolean({
      description: 'The caller may read payloads, and the project has them kept.',
      resolve: (tree, _args, { services, viewer }) => services.topics.mayReadPayloads(tree, viewer),
    }),
    droppedByBroker: t.exposeFloat('droppedByBroker', {
      description:
        'Messages that the broker dropped since the recording began, for any of its clients that read too slowly: topics may be missing. Null: it does not tell, or records its topics itself.',
      nullable: true,
    }),
    count: t.int({
      description: `Topics that are listed. ${UNSEEN}`,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: { kind: t.arg(kindArgument), prefix: t.arg.string({ description: PREFIX }) },
      resolve: async (tree, { kind, prefix }, context) => {
        const counts = countsOf(tree, kind ?? 'PUBLISHED');
        if (counts === null || prefix == null) return counts?.count ?? null;
        return (await mayQueryBroker(context, false)) ? context.services.topics.count(tree, { kind, prefix }) : null;
      },
    }),
    leftOut: t.float({
      description: 'Uses of topics that are not listed because of a limit, since the recording began.',
      args: { kind: t.arg(oneKind) },
      resolve: (tree, { kind }) => kindsIn(tree, kind).reduce((sum, { leftOut }) => sum + leftOut, 0),
    }),
    isTruncated: t.boolean({
      description: 'A limit keeps topics out now, or did within the last TTL.',
      args: { kind: t.arg(oneKind) },
      resolve: (tree, { kind }) => kindsIn(tree, kind).some(({ isTruncated }) => isTruncated),
    }),
    topics: t.connection(
      {
        description: `Level by level in order of their names, a topic before those below it. A page may have fewer than \`first\` where topics and payloads are long. ${UNSEEN}`,
        type: Topic,
        nullable: true,
        complexity: (args) => ({
          ...pageCost(args),
          field: args.search == null && args.filter == null ? BROKER_QUERY_COST : SEARCH_COST,
        }),
        args: {
          kind: t.arg(kindArgument),
          prefix: t.arg.string({ description: PREFIX }),
          search: t.arg.string({ description: 'Only topics that contain this text, in upper or lower case.' }),
          filter: t.arg.string({ description: 'Only topics that match this MQTT topic filter.' }),
          offset: t.arg.int({ description: 'Entries left out at the start.' }),
        },
        resolve: async (tree, args, context, info) => {
          if (countsOf(tree, args.kind ?? 'PUBLISHED') === null || !(await mayQueryBroker(context, false))) return null;
          const asked = { withPayloads: asksForPayloads(info), withCount: selects(info, 'totalCount') };
          const found = await context.services.topics.page(tree, context.viewer, { ...args, ...asked });
          return { ...found, edges: walk(context, found.edges) };
        },
      },
      {
        name: 'TopicConnection',
        description: 'Topics of a broker.',
        fields: (connection) => ({
          totalCount: connection.int({
            description:
              'Of all pages; with `search` or `filter` each topic is looked at for it. Of a cluster: of different topics where no node lists more than 10,000, else the sum over its nodes.',
            resolve: ({ totalCount }) => totalCount ?? 0,
          }),
          names: connection.stringList({
            description: 'The topics of the page as text alone.',
            complexity: COUNTED_BY_PAGE,
            resolve: ({ edges }, _args, context) => {
              const names = edges.map(({ node }) => node.recorded.topic);
              const characters = names.reduce((sum, { length }) => sum + length, 0);
              return mayReturnText(context, characters) ? names : [];
            },
          }),
        }),
      },
      { name: 'TopicEdge', description: 'A topic in its place.' },
    ),
    children: t.connection(
      {
        description: `The levels right below one, or the first levels of all topics, ${IN_ORDER} ${UNSEEN}`,
        type: TopicLevel,
        nullable: true,
        complexity: pageCost,
        args: {
          of: t.arg.string({
            description: 'The levels down to there, as `topic` of a level. Left out: the first levels.',
          }),
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
      description: 'Null: it is not listed.',
      type: Topic,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: {
        topic: t.arg.string({ description: 'The whole topic, or filter.', required: true }),
        kind: t.arg(kindArgument),
      },
      resolve: async (tree, { topic, kind }, context) => {
        const known = kind ?? 'PUBLISHED';
        if (countsOf(tree, known) === null || !(await mayQueryBroker(context, false))) return null;
        return context.services.topics.find(tree, known, topic);
      },
    }),
    settings: t.field({
      description: 'How they are recorded.',
      type: TopicTreeSettingsType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (tree, _args, context) =>
        (await mayQueryBroker(context, false)) ? context.services.topics.settings(tree) : null,
    }),
  }),
});

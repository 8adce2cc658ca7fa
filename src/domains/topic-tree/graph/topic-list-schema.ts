import type { TopicOrder as SortedBy } from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { selects } from '../../../gateway/graphql/document.ts';
import { BROKER_QUERY_COST, COUNTED_BY_PAGE, pageCost, SEARCH_COST } from '../../../gateway/graphql/page-cost.ts';
import { orderInput } from '../../../gateway/graphql/sort-order.ts';
import { mayQueryBroker, mayReturnText, walk } from '../../../gateway/graphql/walk-limit.ts';
import { countsOf } from '../topic-view.ts';
import { kindArgument, selectsPayloads, Topic } from './topic-schema.ts';
import { PREFIX, TopicTree, UNSEEN } from './topic-tree-schema.ts';

const TopicSortField = describedEnum<SortedBy['field']>(
  'TopicSortField',
  'Sort field of a list of topics. Topics with equal values are in the order of their names.',
  {
    TOPIC: 'Level by level in the order of their names. A topic precedes the topics below it.',
    LAST_SEEN: 'Time of the last use.',
    MESSAGES: 'Number of messages, or of subscriptions.',
  },
);

const TopicOrder = orderInput('TopicOrder', TopicSortField);

builder.objectFields(TopicTree, (t) => ({
  topics: t.connection(
    {
      description: `The topics. A page may have fewer than \`first\` topics if topics and payloads are long. ${UNSEEN}`,
      type: Topic,
      nullable: true,
      complexity: (args) => ({
        ...pageCost(args),
        field: args.search == null && args.filter == null && args.orderBy == null ? BROKER_QUERY_COST : SEARCH_COST,
      }),
      args: {
        kind: t.arg(kindArgument),
        prefix: t.arg.string({ description: PREFIX }),
        search: t.arg.string({ description: 'Only topics that contain this text. Upper and lower case are equal.' }),
        filter: t.arg.string({ description: 'Only topics that match this MQTT topic filter.' }),
        orderBy: t.arg({
          type: TopicOrder,
          description:
            'Default: by topic, ascending. All other orders examine every topic, and are NOT_SUPPORTED_BY_BROKER for the combined topics of a cluster.',
        }),
        offset: t.arg.int({ description: 'Number of topics to skip.' }),
      },
      resolve: async (tree, args, context, info) => {
        if (countsOf(tree, args.kind ?? 'PUBLISHED') === null || !(await mayQueryBroker(context, false))) return null;
        const details = { withPayloads: selectsPayloads(info), withCount: selects(info, 'totalCount') };
        const found = await context.services.topics.page(tree, context.viewer, { ...args, ...details });
        return { ...found, edges: walk(context, found.edges) };
      },
    },
    {
      name: 'TopicConnection',
      description: 'Topics of a broker.',
      fields: (connection) => ({
        totalCount: connection.int({
          description:
            'Number of topics on all pages. With `search` or `filter`, every topic is examined. In a cluster: the number of different topics if no node lists more than 10,000, otherwise the sum over the nodes.',
          resolve: ({ totalCount }) => totalCount ?? 0,
        }),
        names: connection.stringList({
          description: 'Only the names of the topics of the page.',
          complexity: COUNTED_BY_PAGE,
          resolve: ({ edges }, _args, context) => {
            const names = edges.map(({ node }) => node.topic);
            const characters = names.reduce((sum, { length }) => sum + length, 0);
            return mayReturnText(context, characters) ? names : [];
          },
        }),
      }),
    },
    { name: 'TopicEdge' },
  ),
}));

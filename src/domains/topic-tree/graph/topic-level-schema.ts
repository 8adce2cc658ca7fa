import type { GraphQLResolveInfo } from 'graphql';
import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { pageCost } from '../../../gateway/graphql/page-cost.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayQueryBroker, walk } from '../../../gateway/graphql/walk-limit.ts';
import type { ListConnection } from '../../../platform/paging.ts';
import type { LevelsInput } from '../topic-service.ts';
import type { LevelView, TopicTreeRef } from '../topic-view.ts';
import { selectsPayloads, Topic } from './topic-schema.ts';

export const IN_ORDER = 'in the order of their names.';

export const TopicLevel = builder.objectRef<LevelView>('TopicLevel');
export const TopicLevelConnection = builder.connectionObject(
  {
    name: 'TopicLevelConnection',
    description: 'Sibling levels.',
    type: TopicLevel,
    fields: (t) => ({
      totalCount: t.int({
        description: 'Number of all siblings, on all pages.',
        resolve: (connection) => (connection as ListConnection<LevelView>).totalCount,
      }),
    }),
  },
  { name: 'TopicLevelEdge' },
);

export async function levelsOf(
  ref: TopicTreeRef,
  input: Omit<LevelsInput, 'withPayloads'>,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<ListConnection<LevelView>> {
  const request = { ...input, withPayloads: selectsPayloads(info) };
  const found = await context.services.topics.levels(ref, context.viewer, request);
  return { ...found, edges: walk(context, found.edges) };
}

const NO_LEVELS: ListConnection<LevelView> = {
  edges: [],
  pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
  totalCount: 0,
};

TopicLevel.implement({
  ...withBroker,
  description: 'One level of a topic tree: a listed topic, the parent of listed topics, or both.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name between two `/`. May be empty.' }),
    topic: t.exposeString('topic', { description: 'All levels from the first one to this one.' }),
    topicCount: t.exposeInt('topicCount', { description: 'Number of listed topics at and below this level.' }),
    childCount: t.exposeInt('childCount', { description: 'Number of levels directly below this one.' }),
    recorded: t.field({
      description: 'The topic of this level itself. Null if only topics below it are listed.',
      type: Topic,
      nullable: true,
      resolve: ({ broker, nodeId, kind, recorded }) => recorded && { broker, nodeId, kind, ...recorded },
    }),
    children: t.connection(
      {
        description: `The levels directly below this one, ${IN_ORDER}`,
        type: TopicLevel,
        nullable: true,
        complexity: pageCost,
        resolve: async (parent, args, context, info) => {
          const { topic, childCount, kind } = parent;
          // Most levels of a page have no children, so their levels are not requested.
          if (childCount === 0) return NO_LEVELS;
          if (!(await mayQueryBroker(context, false))) return null;
          return levelsOf(parent, { ...args, kind, of: topic }, context, info);
        },
      },
      TopicLevelConnection,
    ),
  }),
});

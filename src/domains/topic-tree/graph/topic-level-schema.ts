import type { GraphQLResolveInfo } from 'graphql';
import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { pageCost } from '../../../gateway/graphql/page-cost.ts';
import { mayQueryBroker, walk } from '../../../gateway/graphql/walk-limit.ts';
import type { ListConnection } from '../../../gateway/paging.ts';
import type { LevelsInput } from '../topic-service.ts';
import type { LevelView, TopicPlace } from '../topic-view.ts';
import { asksForPayloads, Topic } from './topic-schema.ts';

/** Order of sibling levels, for descriptions. */
export const IN_ORDER = 'in order of their names.';

export const TopicLevel = builder.objectRef<LevelView>('TopicLevel');
export const TopicLevelConnection = builder.connectionObject(
  {
    name: 'TopicLevelConnection',
    description: 'Levels beside each other.',
    type: TopicLevel,
    fields: (t) => ({
      totalCount: t.int({
        description: 'Of all levels beside these, whatever the page.',
        resolve: (connection) => (connection as ListConnection<LevelView>).totalCount,
      }),
    }),
  },
  { name: 'TopicLevelEdge', description: 'A level in its place.' },
);

/** Returns a page of levels. Payloads are requested only if the operation selects them. */
export async function levelsOf(
  place: TopicPlace,
  input: Omit<LevelsInput, 'withPayloads'>,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<ListConnection<LevelView>> {
  const asked = { ...input, withPayloads: asksForPayloads(info) };
  const found = await context.services.topics.levels(place, context.viewer, asked);
  return { ...found, edges: walk(context, found.edges) };
}

const NO_LEVELS: ListConnection<LevelView> = {
  edges: [],
  pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
  totalCount: 0,
};

TopicLevel.implement({
  description: 'One level of a topic tree: a topic, a place where topics are below, or both.',
  fields: (t) => ({
    name: t.string({ description: 'Between two `/`; may be empty.', resolve: ({ level }) => level.name }),
    topic: t.string({ description: 'The levels down to here.', resolve: ({ level }) => level.topic }),
    topicCount: t.int({
      description: 'Topics that are listed, here and below.',
      resolve: ({ level }) => level.topicCount,
    }),
    childCount: t.int({ description: 'Levels right below.', resolve: ({ level }) => level.childCount }),
    recorded: t.field({
      description: 'What is known of the topic itself. Null: only topics below it are listed.',
      type: Topic,
      nullable: true,
      resolve: ({ level: { recorded }, ...place }) => recorded && { ...place, recorded },
    }),
    children: t.connection(
      {
        description: `The levels right below, ${IN_ORDER}`,
        type: TopicLevel,
        nullable: true,
        complexity: pageCost,
        resolve: async (parent, args, context, info) => {
          const { level, kind } = parent;
          // Most levels of a page have no children, so their levels are not requested.
          if (level.childCount === 0) return NO_LEVELS;
          if (!(await mayQueryBroker(context, false))) return null;
          return levelsOf(parent, { ...args, kind, of: level.topic }, context, info);
        },
      },
      TopicLevelConnection,
    ),
  }),
});

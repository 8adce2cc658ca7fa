import type { RequestContext } from '../../../gateway/context.ts';
import { builder, signedIn } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { findNode, findsNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { orderInput } from '../../../gateway/graphql/sort-order.ts';
import { belongsToOwner } from '../../../gateway/graphql/type-scopes.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { pageOf } from '../../../platform/paging.ts';
import { errorStatements, type Statement, statementsOf } from '../../../protocol/problems/problem-statements.ts';
import { statusFor } from '../../brokers/broker-info-schema.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import { MAX_FILTER_IDS } from '../model/problem-filter.ts';
import { PROBLEM_KINDS } from '../model/problem-kinds.ts';
import type { ProblemCounts, ProblemSortField } from '../problem-list.ts';
import type { ProblemRecord } from '../storage/problem-cache.ts';
import { ProblemKindType, ProblemSeverityType, StatementCodeType } from './problem-enums.ts';

const Acknowledgement = builder.objectRef<ProblemRecord>('ProblemAcknowledgement').implement({
  description: 'That a person knows of a problem.',
  fields: (t) => ({
    by: t.string({
      description: 'E-mail address of the user, or name of the token.',
      resolve: ({ acknowledgedBy }) => acknowledgedBy ?? '',
    }),
    at: t.field({
      description: 'Time of the acknowledgement.',
      type: 'DateTime',
      resolve: ({ acknowledgedAt, openedAt }) => acknowledgedAt ?? openedAt,
    }),
    note: t.exposeString('acknowledgedNote', { description: 'Text for other users.', nullable: true }),
  }),
});

const StatementType = builder.objectRef<Statement>('ProblemStatement').implement({
  description: 'A sentence about a problem, which clients translate by its code.',
  fields: (t) => ({
    code: t.expose('code', { description: 'What it states.', type: StatementCodeType }),
    parameters: t.expose('parameters', {
      description:
        'The values of the sentence by their names, and what its remedy depends on: an object of strings of at most 2,000 characters. Numbers have no separators. `error` is a text of a broker, of a target or of the service, in English.',
      type: 'JSON',
    }),
  }),
});

/** Why a broker cannot be reached. The stored text is for everyone, so it lacks what only administrators may know. */
function reasonFor({ kind, brokerId, closedAt }: ProblemRecord, { services, viewer }: RequestContext): string | null {
  if (kind !== 'BROKER_UNREACHABLE' || brokerId === null || closedAt !== null) return null;
  const status = statusFor(viewer, services.brokers.seen(brokerId, viewer), services.runtimes.status(brokerId));
  return status.lastError ?? null;
}

export const ProblemType = builder.objectRef<ProblemRecord>('Problem').implement({
  description:
    'Something that is wrong, or was. The facts open and close it, never a person: it opens when a fact has lasted, and closes when the fact has been gone for a time. If the fact returns soon, the same problem opens again.',
  ...belongsToOwner,
  interfaces: [Node],
  fields: (t) => ({
    kind: t.expose('kind', { description: 'The kind, by which clients translate `title`.', type: ProblemKindType }),
    severity: t.expose('severity', { description: 'How urgent it is.', type: ProblemSeverityType }),
    title: t.string({ description: 'What is wrong, in English.', resolve: ({ kind }) => PROBLEM_KINDS[kind].title }),
    detail: t.string({
      description:
        'The facts, in English, at most a minute old. Only administrators of the project learn whether the host or the port of a broker can be reached.',
      resolve: (problem, _args, context) => reasonFor(problem, context) ?? problem.detail,
    }),
    statements: t.field({
      description:
        'What `detail` states, in the same order, so that clients say it in any language. Empty if an earlier version of the service noted the detail.',
      type: [StatementType],
      complexity: { field: 1, multiplier: 2 },
      resolve: (problem, _args, context) => {
        const reason = reasonFor(problem, context);
        return reason === null ? statementsOf(problem) : errorStatements(reason);
      },
    }),
    whatWouldHelp: t.string({
      description: 'What an operator can do about it, in English.',
      resolve: ({ kind, whatWouldHelp }) => whatWouldHelp ?? PROBLEM_KINDS[kind].whatWouldHelp,
    }),
    subject: t.field({
      description:
        'The object that has the problem. Null if it is no object of the graph, was deleted, or cannot be read now.',
      type: Node,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async ({ subjectId }, _args, context) => {
        if (subjectId === null) return null;
        try {
          return await findNode(subjectId, context);
        } catch (error) {
          if (error instanceof ServiceError) return null;
          throw error;
        }
      },
    }),
    subjectId: t.exposeID('subjectId', {
      description: 'Id of `subject`, also if it cannot be read. Null if the subject is no object of the graph.',
      nullable: true,
    }),
    subjectName: t.exposeString('subjectName', {
      description: 'Name of the subject when the problem opened; of a process its machine.',
    }),
    broker: t.field({
      description: 'The broker of the subject. Null if it belongs to no broker, or if the broker was deleted.',
      type: Broker,
      nullable: true,
      resolve: ({ brokerId }, _args, { services, viewer }) =>
        brokerId === null ? null : services.brokers.seen(brokerId, viewer),
    }),
    brokerName: t.exposeString('brokerName', {
      description: 'Name of the broker when the problem opened, also if it was deleted since. Null without a broker.',
      nullable: true,
    }),
    project: t.field({
      description: 'The project of the subject. Null for a problem of the service itself.',
      type: Project,
      nullable: true,
      resolve: ({ projectId }, _args, { services, viewer }) =>
        projectId === null ? null : services.projects.visible(projectId, viewer),
    }),
    openedAt: t.expose('openedAt', { description: 'When it opened the first time.', type: 'DateTime' }),
    closedAt: t.expose('closedAt', {
      description: 'When it closed. Null while it is open.',
      type: 'DateTime',
      nullable: true,
    }),
    lastSeenAt: t.expose('lastSeenAt', {
      description: 'When the fact was last seen. While it lasts, at most a minute ago, or two.',
      type: 'DateTime',
    }),
    count: t.exposeInt('count', { description: 'How often the fact has appeared since `openedAt`.' }),
    acknowledgement: t.field({
      description: 'Null unless a person has acknowledged the problem.',
      type: Acknowledgement,
      nullable: true,
      resolve: (problem) => (problem.acknowledgedAt === null ? null : problem),
    }),
    isSilenced: t.boolean({
      description: 'Whether a silence of the project applies to it now, for example during maintenance.',
      resolve: (problem, _args, { services }) => services.problems.isSilenced(problem),
    }),
  }),
});

findsNode('problem', (id, { services, viewer }) => services.problems.visible(id, viewer));

const CountsType = builder.objectRef<ProblemCounts>('ProblemCounts').implement({
  description: 'Numbers of open problems that the caller may see, by severity. Silenced ones are counted apart.',
  fields: (t) => ({
    critical: t.exposeInt('critical', { description: 'Something does not work now, or messages are lost.' }),
    warning: t.exposeInt('warning', { description: 'Something works badly, or soon does not work.' }),
    notice: t.exposeInt('notice', { description: 'Something is limited.' }),
    silenced: t.exposeInt('silenced', { description: 'Open problems to which a silence applies, of any severity.' }),
  }),
});

const IDS = `at most ${MAX_FILTER_IDS.toLocaleString('en')}`;

const ProblemFilterType = builder.inputType('ProblemFilter', {
  description: 'Problems that match all given conditions.',
  fields: (t) => ({
    isOpen: t.boolean({ description: 'Only open or only closed problems. Null: both. Default: true.' }),
    projectId: t.id({ description: 'Only problems of this project and its brokers.' }),
    brokerIds: t.idList({ description: `Only problems of these brokers, ${IDS}.` }),
    subjectIds: t.idList({ description: `Only problems of these subjects, ${IDS}.` }),
    kinds: t.field({ description: 'Only these kinds.', type: [ProblemKindType] }),
    severities: t.field({ description: 'Only these severities.', type: [ProblemSeverityType] }),
    isAcknowledged: t.boolean({ description: 'Only acknowledged problems, or only the others.' }),
    isSilenced: t.boolean({ description: 'Only silenced problems, or only the others.' }),
    from: t.field({ description: 'Only problems that opened or closed at this time or later.', type: 'DateTime' }),
    to: t.field({
      description: 'Only problems that opened or closed before this time. With `from`: in the time between them.',
      type: 'DateTime',
    }),
  }),
});

const ProblemOrder = orderInput(
  'ProblemOrder',
  describedEnum<ProblemSortField>(
    'ProblemSortField',
    'Sort field of a list of problems. Problems with equal values are in the order of their first opening.',
    {
      OPENED_AT: 'Time of the first opening.',
      CLOSED_AT: 'Time of the closing. Open problems are last.',
      SEVERITY: 'Descending: critical problems first.',
      COUNT: 'How often the fact has appeared.',
    },
  ),
);

/** Filtering and sorting 20,000 problems takes about 20 ms. */
const LIST_COST = 20;

const listArguments = () =>
  builder.args((t) => ({
    filter: t.field({ type: ProblemFilterType, description: 'Default: open problems.' }),
    orderBy: t.field({ type: ProblemOrder, description: 'Default: those that opened last come first.' }),
    offset: t.int({ description: 'Number of problems to skip.' }),
  }));

const ProblemConnection = builder.connectionObject(
  {
    type: ProblemType,
    name: 'ProblemConnection',
    description: pageOf('problems'),
    fields: (connection) => ({
      totalCount: connection.int({
        description: 'Number of problems of the filtered list that the caller may see, on all pages.',
        resolve: (page) => (page as unknown as { readonly totalCount: number }).totalCount,
      }),
    }),
  },
  { name: 'ProblemEdge' },
);

const costOf = (args: Parameters<typeof pageCost>[0]) => ({ ...pageCost(args), field: LIST_COST });

builder.queryFields((t) => ({
  problems: t.connection(
    {
      description:
        'The problems that the caller may see: of all projects and, for root administrators, of the service itself.',
      type: ProblemType,
      ...signedIn,
      complexity: costOf,
      args: listArguments(),
      resolve: (_root, args, { services, viewer }) => services.problems.page(args, viewer),
    },
    ProblemConnection,
  ),
  problemCounts: t.field({
    description: 'Numbers of open problems of all projects that the caller may see, and of the service itself.',
    type: CountsType,
    ...signedIn,
    complexity: LIST_COST,
    resolve: (_root, _args, { services, viewer }) => services.problems.counts(viewer),
  }),
}));

builder.prismaObjectFields(Project, (t) => ({
  problems: t.connection(
    {
      description: 'The problems of the project and its brokers, as far as the caller may see them.',
      type: ProblemType,
      complexity: costOf,
      args: listArguments(),
      resolve: ({ id }, args, { services, viewer }) => services.problems.ofProject(id, args, viewer),
    },
    ProblemConnection,
  ),
  problemCounts: t.field({
    description: 'Numbers of open problems of the project and its brokers that the caller may see.',
    type: CountsType,
    resolve: ({ id }, _args, { services, viewer }) => services.problems.countsOfProject(id, viewer),
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  problems: t.connection(
    {
      description: 'The problems of the broker and its parts.',
      type: ProblemType,
      complexity: costOf,
      args: listArguments(),
      resolve: (broker, args, { services, viewer }) => services.problems.ofBroker(broker, args, viewer),
    },
    ProblemConnection,
  ),
  problemCounts: t.field({
    description: 'Numbers of open problems of the broker and its parts.',
    type: CountsType,
    resolve: (broker, _args, { services }) => services.problems.countsOfBroker(broker),
  }),
}));

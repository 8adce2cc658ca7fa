import { type GraphQLResolveInfo, type GraphQLSchema, getNamedType, isInputObjectType } from 'graphql';
import type { RequestContext, Transport } from '../../gateway/context.ts';
import { builder, requires, rootAdmin } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { ErrorCode as ErrorCodeType } from '../../gateway/graphql/error-code.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { rowConnection } from '../../gateway/graphql/row-connection.ts';
import { orderInput } from '../../gateway/graphql/sort-order.ts';
import { totalCount } from '../../gateway/graphql/total-count.ts';
import { belongsToProject } from '../../gateway/graphql/type-scopes.ts';
import { viewerCan } from '../../gateway/graphql/viewer-can.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { requireSignedIn, requireWholeProject, seesWholeProject } from '../../platform/auth/viewer.ts';
import { type ErrorCode, OutOfSight } from '../../platform/errors.ts';
import type { PageArguments } from '../../platform/paging.ts';
import { Project } from '../projects/project-schema.ts';
import type { ChainPosition, ChainProblem } from './audit-chain.ts';
import type { ACTOR_KINDS, AUDIT_RESULTS } from './audit-event.ts';
import { countEntries, findEntries, previewCondition, searchCondition } from './audit-search.ts';
import type { AuditVerification } from './audit-verification.ts';

const ActorKind = describedEnum<(typeof ACTOR_KINDS)[number]>('AuditActorKind', 'The kind of an actor.', {
  USER: 'A signed-in user.',
  TOKEN: 'A project token.',
  OPERATOR: 'The owner of the data folder, at the command line.',
  SERVICE: 'This service.',
  NOBODY: 'An unknown caller, without credentials or with wrong ones.',
});

const Result = describedEnum<(typeof AUDIT_RESULTS)[number]>('AuditResult', 'The result of an operation.', {
  DONE: 'The operation succeeded. Parts that failed are in `after.outcome`.',
  REFUSED: 'The caller has no right to the operation, or was rate limited.',
  FAILED: 'The input was invalid, or the operation failed.',
  UNKNOWN: 'The process ended during the operation, which may have succeeded.',
});

const TransportEnum = describedEnum<Transport>('AuditWay', 'The transport of a request.', {
  GRAPHQL: 'GraphQL over HTTP, WebSocket or SSE.',
  REST: 'REST. The operation is the operation of the graph that the REST interface runs.',
  MQTT: 'MQTT, at a broker that this service runs.',
  OPERATOR: 'The command line.',
  SERVICE: 'No request: an action of this service.',
});

const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

export const AuditEvent = builder.prismaObject('AuditEntry', {
  variant: 'AuditEvent',
  interfaces: [Node],
  select: { id: true, sequence: true, projectId: true },
  // An entry without a project is for root administrators, who have every role.
  ...belongsToProject(({ projectId }: { readonly projectId: string | null }) => projectId ?? '', 'ADMIN'),
  description: 'A change, an attempt to change something, or a refused read. It contains no secrets.',
  fields: (t) => ({
    sequence: t.expose('sequence', { type: 'SafeInt', description: 'Position in the chain, from 1 without gaps.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When the operation began.' }),
    actorKind: t.field({
      type: ActorKind,
      description: 'Kind of the caller.',
      select: { actorKind: true },
      resolve: ({ actorKind }) => actorKind as 'USER',
    }),
    actorId: t.exposeID('actorId', {
      nullable: true,
      description: 'Id of the user or the token, which may be deleted.',
    }),
    actorName: t.exposeString('actorName', {
      nullable: true,
      description: 'E-mail address of the user, or name of the token, at that time.',
    }),
    actorIssuer: t.exposeString('actorIssuer', {
      nullable: true,
      description: 'E-mail address of the user who issued the token. Null for other actors.',
    }),
    address: t.exposeString('address', { description: 'Network address of the caller. Empty if there is none.' }),
    requestId: t.exposeString('requestId', { description: 'The request id, as in `X-Request-Id` and in the log.' }),
    via: t.field({
      type: TransportEnum,
      description: 'The transport of the request.',
      select: { via: true },
      resolve: ({ via }) => via as 'GRAPHQL',
    }),
    operation: t.exposeString('operation', {
      description: 'Name of the mutation or of the refused field, or a name of the same form for other events.',
    }),
    projectId: t.exposeID('projectId', { nullable: true, description: 'Id of the project of the target.' }),
    project: t.field({
      type: Project,
      nullable: true,
      description: 'The project of the target. Null if there is none, or if it was deleted.',
      select: { projectId: true },
      resolve: ({ projectId }, _args, { services, viewer }) =>
        projectId !== null && services.projects.exists(projectId) ? services.projects.visible(projectId, viewer) : null,
    }),
    brokerId: t.exposeID('brokerId', { nullable: true, description: 'Id of the broker of the target.' }),
    targetKind: t.exposeString('targetKind', {
      nullable: true,
      description: 'Kind of the target, such as project, broker, user, account.',
    }),
    targetId: t.exposeID('targetId', {
      nullable: true,
      description: 'Id of the target, as in the graph. Null if the target was not created.',
    }),
    targetName: t.string({
      nullable: true,
      description:
        'Current name of the target, or the e-mail address of a user; for a deleted target the name in the entry. Null if the target has no name, or if the caller may not see it.',
      select: { targetKind: true, targetId: true, before: true, after: true },
      resolve: (entry, _args, { services, viewer }) =>
        services.audit.targetNames.nameOf(entry, requireSignedIn(viewer)),
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The previous values of the changed fields; for a deletion all fields. Only for objects in the database of this service, and for access control. For several changes of access control, `changes` has them at the positions of the changes, `null` for changes that replaced nothing.',
      select: { before: true },
      resolve: ({ before }) => parsed(before),
    }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The input of the operation. For several changes of access control also `outcomes`, and `changes` if they follow from a document. An entry with `count` stands for that many further refused attempts.',
      select: { after: true },
      resolve: ({ after }) => parsed(after),
    }),
    result: t.field({
      type: Result,
      description: 'Result of the operation.',
      select: { result: true },
      resolve: ({ result }) => result as 'DONE',
    }),
    code: t.field({
      type: ErrorCodeType,
      nullable: true,
      description: 'The code of the error. Null if DONE.',
      select: { code: true },
      resolve: ({ code }) => code as ErrorCode | null,
    }),
    previousHash: t.exposeString('previousHash', { description: 'The hash of the previous entry.' }),
    hash: t.exposeString('hash', { description: 'SHA-256 of the entry and of `previousHash`.' }),
  }),
});

findsNode('auditEvent', async (id, { db, viewer }) => {
  const entry = await db.auditEntry.findUnique({ where: { id } });
  const isSeen = seesWholeProject(viewer, entry?.projectId ?? '', 'ADMIN');
  if (entry !== null && !isSeen) throw new OutOfSight('auditEvent', id);
  return entry;
});

export const AuditFilter = builder.inputType('AuditFilter', {
  description: 'Conditions on entries. All given conditions must match.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Earliest time (inclusive).' }),
    to: t.field({ type: 'DateTime', description: 'Latest time (exclusive).' }),
    actorKind: t.field({ type: ActorKind, description: 'Kind of the caller.' }),
    actorId: t.id({ description: 'Id of the user or the token.' }),
    actorName: t.string({ description: 'E-mail address of the user, or name of the token, at that time.' }),
    operation: t.string({ description: 'Name of the mutation or of the refused field.' }),
    projectId: t.id({ description: 'The project of the target.' }),
    brokerId: t.id({ description: 'The broker of the target.' }),
    targetKind: t.string({ description: 'Kind of the target.' }),
    targetId: t.id({ description: 'Id of the target.' }),
    result: t.field({ type: Result, description: 'Result of the operation.' }),
    code: t.field({ type: ErrorCodeType, description: 'The code of the error.' }),
    requestId: t.string({ description: 'Id of the request, as in `X-Request-Id`.' }),
    isPreview: t.boolean({
      description: 'Whether the operation was a successful dry run, which changed nothing. Default: both.',
    }),
    search: t.string({
      description:
        'Text in the name of the caller, the id of the target, or the values before and after the change: at most 1,000 characters. `%` stands for any text, `_` for any character. Upper and lower case of a to z are equal.',
    }),
  }),
});

const AuditSortField = describedEnum('AuditSortField', 'Sort field of a list of entries.', {
  TIME: 'The order in which the entries were written.',
});

const AuditOrder = orderInput('AuditOrder', AuditSortField);

const orderBy = { type: AuditOrder, description: 'Default: the newest first.' } as const;

type FilterInput = typeof AuditFilter.$inferInput;

/** Errors: INVALID. */
export function whereOf(
  filter: FilterInput | null | undefined,
  { services }: Pick<RequestContext, 'services'>,
  { schema }: Pick<GraphQLResolveInfo, 'schema'>,
): Prisma.AuditEntryWhereInput {
  const { from, to, search, isPreview, ...equal } = filter ?? {};
  const given = Object.entries(equal).filter(([, value]) => value !== null && value !== undefined);
  return {
    ...Object.fromEntries(given),
    ...((from || to) && { at: { ...(from && { gte: from }), ...(to && { lt: to }) } }),
    ...(search && searchCondition(search, services.audit.engine)),
    ...(isPreview != null && { AND: ofPreviews(isPreview, schema) }),
  };
}

/** Columns without a value match no condition of the database, also not its opposite. */
function ofPreviews(isPreview: boolean, schema: GraphQLSchema): Prisma.AuditEntryWhereInput {
  const preview = previewCondition(previewableOperations(schema));
  return isPreview ? preview : { OR: [{ after: null }, { NOT: preview }] };
}

/** Names of the mutations with a dry run. */
const previewableOperations = (schema: GraphQLSchema): readonly string[] =>
  Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap(({ name, args }) => {
    const type = getNamedType(args.find((one) => one.name === 'input')?.type);
    return isInputObjectType(type) && 'dryRun' in type.getFields() ? [name] : [];
  });

const Place = builder.objectRef<ChainPosition>('AuditPlace').implement({
  description: 'A position in the chain of entries.',
  fields: (t) => ({
    sequence: t.expose('sequence', {
      type: 'SafeInt',
      description: 'Sequence of the entry. 0 is the position before the first entry.',
    }),
    hash: t.exposeString('hash', { description: 'Hash of the entry, which covers all previous entries.' }),
  }),
});

const Problem = builder.objectRef<ChainProblem>('AuditProblem').implement({
  description: 'A part of the chain that was changed after it was written.',
  fields: (t) => ({
    sequence: t.expose('sequence', { type: 'SafeInt', description: 'Sequence of the invalid or missing entry.' }),
    reason: t.exposeString('reason', { description: 'What is wrong.' }),
  }),
});

const Verification = builder.objectRef<AuditVerification>('AuditVerification').implement({
  description: 'The result of a verification of all entries.',
  fields: (t) => ({
    isIntact: t.exposeBoolean('isIntact', {
      description: 'Whether no entry was changed, deleted, inserted or moved.',
    }),
    checked: t.exposeInt('checked', { description: 'Number of verified entries.' }),
    start: t.expose('start', { type: Place, description: 'The position before the first stored entry.' }),
    head: t.expose('head', {
      type: Place,
      description: 'The newest entry. Store it elsewhere and pass its hash to `verifyAudit` later.',
    }),
    problems: t.expose('problems', { type: [Problem], description: 'The first 100 problems in order.' }),
    problemCount: t.exposeInt('problemCount', { description: 'Number of all problems.' }),
  }),
});

const MAX_ENTRIES = 1_000;
const DEFAULT_ENTRIES = 20;
const PAGE_SIZE = `A page has at most ${MAX_ENTRIES.toLocaleString('en')} entries. Default: ${DEFAULT_ENTRIES}.`;
const ENTRIES = {
  kind: 'AuditEvent',
  key: 'sequence',
  keyType: 'number',
  pageSize: { most: MAX_ENTRIES, usual: DEFAULT_ENTRIES },
} as const;
const FOUND = 'Number of entries that match the filter, on all pages.';

const auditPage = (
  where: Prisma.AuditEntryWhereInput,
  args: PageArguments & { readonly orderBy?: typeof AuditOrder.$inferInput | null | undefined },
  context: RequestContext,
  info: GraphQLResolveInfo,
) =>
  rowConnection({ ...ENTRIES, direction: args.orderBy?.order ?? 'desc' }, args, context, info, {
    find: (query) => findEntries(context.db, where, query),
    count: () => countEntries(context.db, where),
  });

builder.queryFields((t) => ({
  auditEvents: t.connection(
    {
      description: `Changes and refused attempts. ${PAGE_SIZE}`,
      type: AuditEvent,
      ...rootAdmin,
      args: { filter: t.arg({ type: AuditFilter, description: 'Default: all entries.' }), orderBy: t.arg(orderBy) },
      resolve: (_root, args, context, info) => auditPage(whereOf(args.filter, context, info), args, context, info),
    },
    { name: 'AuditEventConnection', description: 'A page of the audit.', fields: (page) => totalCount(page, FOUND) },
    { name: 'AuditEventEdge' },
  ),
  verifyAudit: t.field({
    description: 'Verifies the chain of all entries. Takes minutes for a million entries.',
    type: Verification,
    ...rootAdmin,
    args: {
      expect: t.arg.string({
        description: 'A `head.hash` of an earlier verification. It must be in the chain.',
      }),
    },
    resolve: (_root, { expect }, { services }) => services.audit.verify(expect),
  }),
}));

builder.prismaObjectFields(Project, (t) => ({
  auditEvents: t.connection(
    {
      description: `Changes and refused attempts in the project. ${PAGE_SIZE} Requires the ADMIN role. Not for tokens that are restricted to brokers.`,
      type: AuditEvent,
      nullable: true,
      ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
      args: { filter: t.arg({ type: AuditFilter, description: 'Default: all entries.' }), orderBy: t.arg(orderBy) },
      authScopes: ({ id }, _args, { services, viewer }) => {
        services.projects.visible(id, viewer, 'ADMIN');
        requireWholeProject(requireSignedIn(viewer));
        return true;
      },
      resolve: ({ id }, args, context, info) =>
        auditPage({ AND: [whereOf(args.filter, context, info), { projectId: id }] }, args, context, info),
    },
    {
      name: 'ProjectAuditEventConnection',
      description: 'A page of the audit of a project.',
      fields: (page) => totalCount(page, FOUND),
    },
    { name: 'ProjectAuditEventEdge' },
  ),
}));

builder.prismaObjectFields(Project, (t) => ({
  viewerCanReadAudit: t.boolean(viewerCan('Project.auditEvents', 'read the audit of the project', () => ({}))),
}));

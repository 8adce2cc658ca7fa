import type { Transport } from '../../gateway/context.ts';
import { builder, requires, rootAdmin } from '../../gateway/graphql/builder.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { requireSignedIn, requireWholeProject } from '../../platform/auth/viewer.ts';
import { Project } from '../projects/project-schema.ts';
import type { ChainPlace, ChainProblem } from './audit-chain.ts';
import type { ACTOR_KINDS, AUDIT_RESULTS } from './audit-event.ts';
import { countEntries, findEntries } from './audit-search.ts';
import type { AuditVerification } from './audit-verification.ts';

const ActorKind = builder.enumType('AuditActorKind', {
  description: 'Who acted.',
  values: {
    USER: { description: 'A person who signed in.' },
    TOKEN: { description: 'A project token.' },
    OPERATOR: { description: 'Whoever owns the data folder, at the command line.' },
    SERVICE: { description: 'This service by itself.' },
    NOBODY: { description: 'Nobody who is known: there were no credentials, or they were wrong.' },
  } satisfies Record<(typeof ACTOR_KINDS)[number], object>,
});

const Result = builder.enumType('AuditResult', {
  description: 'What became of it.',
  values: {
    DONE: { description: 'It was done; parts that were not are told in `after.outcome`.' },
    REFUSED: { description: 'The caller may not do that, or not now.' },
    FAILED: { description: 'It was wrong, or could not be done.' },
    UNKNOWN: { description: 'The process ended in the middle: it may have been done.' },
  } satisfies Record<(typeof AUDIT_RESULTS)[number], object>,
});

const Way = builder.enumType('AuditWay', {
  description: 'How it came.',
  values: {
    GRAPHQL: { description: 'By the graph.' },
    REST: { description: 'By the REST interface; the operation is the one of the graph that it runs.' },
    MQTT: { description: 'By MQTT, at a broker that this service runs.' },
    OPERATOR: { description: 'By the command line.' },
    SERVICE: { description: 'It was no request.' },
  } satisfies Record<Transport, object>,
});

/** JSON that was kept as a text. */
const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

const AuditEvent = builder.prismaObject('AuditEntry', {
  variant: 'AuditEvent',
  description: 'Something that somebody changed, tried to change, or was refused. Secrets are not in it.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Known before the change began.' }),
    sequence: t.exposeInt('sequence', { description: 'Its place in the chain, from 1 without gaps.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it began.' }),
    actorKind: t.field({
      type: ActorKind,
      description: 'What kind of caller.',
      resolve: ({ actorKind }) => actorKind as 'USER',
    }),
    actorId: t.exposeID('actorId', {
      nullable: true,
      description: 'Of the person or the token, also when there is no such one any more.',
    }),
    actorName: t.exposeString('actorName', {
      nullable: true,
      description: 'E-mail address of the person, or name of the token, as it was then.',
    }),
    actorIssuer: t.exposeString('actorIssuer', {
      nullable: true,
      description: 'Of a token: the e-mail address of the person who issued it.',
    }),
    address: t.exposeString('address', { description: 'Network address of the caller; empty: there is none.' }),
    requestId: t.exposeString('requestId', { description: 'As in `X-Request-Id` and in the log.' }),
    via: t.field({ type: Way, description: 'How it came.', resolve: ({ via }) => via as 'GRAPHQL' }),
    operation: t.exposeString('operation', {
      description: 'The mutation, or the field whose reading was refused; names of the same form for what is none.',
    }),
    projectId: t.exposeID('projectId', { nullable: true, description: 'The project that it concerns.' }),
    brokerId: t.exposeID('brokerId', { nullable: true, description: 'The broker that it concerns.' }),
    targetKind: t.exposeString('targetKind', {
      nullable: true,
      description: 'What kind of thing was changed: as project, broker, user, accessClient.',
    }),
    targetId: t.exposeID('targetId', {
      nullable: true,
      description: 'Its id; of connected clients and bridges the name on their broker. Null: it was never made.',
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'What was changed as it was before; of what goes, all of it. Only of what this service keeps itself.',
      resolve: ({ before }) => parsed(before),
    }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'What it was to be: the input. Of a read that was refused what it asked for; with `count` so many more.',
      resolve: ({ after }) => parsed(after),
    }),
    result: t.field({ type: Result, description: 'What became of it.', resolve: ({ result }) => result as 'DONE' }),
    code: t.exposeString('code', { nullable: true, description: 'Error code, unless DONE.' }),
    previousHash: t.exposeString('previousHash', { description: 'That of the entry before it.' }),
    hash: t.exposeString('hash', { description: 'SHA-256 of all of it and of the hash before.' }),
  }),
});

const Filter = builder.inputType('AuditFilter', {
  description: 'All that is said must hold.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'From this moment on.' }),
    to: t.field({ type: 'DateTime', description: 'Before this moment.' }),
    actorKind: t.field({ type: ActorKind, description: 'Kind of the caller.' }),
    actorId: t.id({ description: 'The person, or the token.' }),
    operation: t.string({ description: 'Name of the mutation, or of the field that was read.' }),
    projectId: t.id({ description: 'The project that it concerns.' }),
    brokerId: t.id({ description: 'The broker that it concerns.' }),
    targetKind: t.string({ description: 'Kind of what was changed.' }),
    targetId: t.id({ description: 'What was changed.' }),
    result: t.field({ type: Result, description: 'What became of it.' }),
    requestId: t.string({ description: 'The request that it came by.' }),
    search: t.string({ description: 'A text in the name of the caller, the target’s id, `before` or `after`.' }),
  }),
});

type FilterInput = typeof Filter.$inferInput;

function whereOf(filter: FilterInput | null | undefined): Prisma.AuditEntryWhereInput {
  const { from, to, search, ...equal } = filter ?? {};
  const given = Object.entries(equal).filter(([, value]) => value !== null && value !== undefined);
  const contains = search ? { contains: search } : null;
  return {
    ...Object.fromEntries(given),
    ...((from || to) && { at: { ...(from && { gte: from }), ...(to && { lt: to }) } }),
    ...(contains && {
      OR: [{ actorName: contains }, { targetId: contains }, { before: contains }, { after: contains }],
    }),
  };
}

const Place = builder.objectRef<ChainPlace>('AuditPlace').implement({
  description: 'A place in the chain of entries.',
  fields: (t) => ({
    sequence: t.exposeInt('sequence', { description: 'Of the entry there; 0: before the first.' }),
    hash: t.exposeString('hash', { description: 'It stands for this entry and all before it.' }),
  }),
});

const Problem = builder.objectRef<ChainProblem>('AuditProblem').implement({
  description: 'Something in the chain that is not as it was written.',
  fields: (t) => ({
    sequence: t.exposeInt('sequence', { description: 'Where.' }),
    reason: t.exposeString('reason', { description: 'What does not fit.' }),
  }),
});

const Verification = builder.objectRef<AuditVerification>('AuditVerification').implement({
  description: 'What a look through all entries found.',
  fields: (t) => ({
    isIntact: t.exposeBoolean('isIntact', { description: 'Nothing was changed, removed, put in or moved.' }),
    checked: t.exposeInt('checked', { description: 'Entries that were looked at.' }),
    start: t.field({
      type: Place,
      description: 'Behind which the entries begin that are kept.',
      resolve: ({ start }) => start,
    }),
    head: t.field({
      type: Place,
      description: 'The newest. Kept elsewhere, it shows later whether all up to here is still the same.',
      resolve: ({ head }) => head,
    }),
    problems: t.field({
      type: [Problem],
      description: 'The first hundred, in order.',
      resolve: ({ problems }) => [...problems],
    }),
    problemCount: t.exposeInt('problemCount', { description: 'Of all.' }),
  }),
});

builder.queryFields((t) => ({
  auditEvents: t.prismaConnection(
    {
      description: 'What was changed and what was refused, the newest first.',
      type: AuditEvent,
      cursor: 'sequence',
      maxSize: 1_000,
      ...rootAdmin,
      args: { filter: t.arg({ type: Filter, description: 'Without it: all.' }) },
      resolve: (query, _root, { filter }, { db }) => findEntries(db, whereOf(filter), query),
      totalCount: (_root, { filter }, { db }) => countEntries(db, whereOf(filter)),
    },
    { name: 'AuditEventConnection', description: 'A page of the audit.' },
    { name: 'AuditEventEdge', description: 'An entry with its place in the list.' },
  ),
  verifyAudit: t.field({
    description: 'Looks through all entries: whether they are as they were written. Takes minutes for a million.',
    type: Verification,
    ...rootAdmin,
    args: {
      expect: t.arg.string({
        description: 'A hash that was told earlier, as `head.hash` is: it must be in the chain.',
      }),
    },
    resolve: (_root, { expect }, { services }) => services.audit.verify(expect),
  }),
}));

builder.objectFields(Project, (t) => ({
  auditEvents: t.prismaConnection(
    {
      description:
        'What was changed and refused in the project, the newest first. Needs ADMIN, and no restriction to brokers.',
      type: AuditEvent,
      cursor: 'sequence',
      maxSize: 1_000,
      ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
      args: { filter: t.arg({ type: Filter, description: 'Without it: all.' }) },
      authScopes: ({ id }, _args, { services, viewer }) => {
        services.projects.visible(id, viewer, 'ADMIN');
        requireWholeProject(requireSignedIn(viewer));
        return true;
      },
      resolve: (query, { id }, { filter }, { db }) =>
        findEntries(db, { AND: [whereOf(filter), { projectId: id }] }, query),
      totalCount: ({ id }, { filter }, { db }) => countEntries(db, { AND: [whereOf(filter), { projectId: id }] }),
    },
    { name: 'ProjectAuditEventConnection', description: 'A page of the audit of a project.' },
    { name: 'ProjectAuditEventEdge', description: 'An entry with its place in the list.' },
  ),
}));

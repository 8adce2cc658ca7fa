import { builder, requires } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import type { AuditEntry } from '../../../generated/sqlite/client.ts';
import { requireSignedIn, requireWholeProject } from '../../../platform/auth/viewer.ts';
import { invalid } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { AuditEvent } from '../../audit/audit-schema.ts';
import { findEntries } from '../../audit/audit-search.ts';
import { Project } from '../../projects/project-schema.ts';
import { kindOf, MARK_KINDS, type MarkKind, operationsOf } from './mark-kinds.ts';

const MAX_MARKS = 1_000;
const DAY_MS = 86_400_000;

const MarkKindType = describedEnum<MarkKind>('MarkKind', 'What was changed at a mark.', {
  DEPLOYMENT: 'Brokers, listeners, bridges, streams, recorded topics or clusters.',
  RESTART: 'A broker that this service runs was started or stopped.',
  ACCESS: 'The access control of a broker.',
  DISCONNECT: 'Clients were disconnected.',
  CERTIFICATE: 'A certificate, or where it is deployed.',
});

const Mark = builder.objectRef<AuditEntry>('Mark').implement({
  description: 'A change at a point on the time axis of charts.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When the change began.' }),
    kind: t.field({
      type: MarkKindType,
      description: 'The kind of the change.',
      resolve: ({ operation }) => kindOf(operation) ?? 'DEPLOYMENT',
    }),
    event: t.field({
      type: AuditEvent,
      description: 'The entry of the audit: the operation, its target and the caller.',
      resolve: (entry) => entry,
    }),
  }),
});

interface Marks {
  readonly marks: readonly AuditEntry[];
  readonly isComplete: boolean;
}

const MarkList = builder.objectRef<Marks>('MarkList').implement({
  description: 'The marks of a range of time.',
  fields: (t) => ({
    marks: t.field({
      type: [Mark],
      description: 'The newest first.',
      resolve: ({ marks }) => [...marks],
    }),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'Whether there are no further marks in the range. False if the retention of the audit deleted a part of it.',
    }),
  }),
});

interface MarkRange {
  readonly from: Date;
  readonly to: Date;
  readonly kinds: readonly MarkKind[];
  readonly first: number;
}

/** Only changes that were made. Errors: INVALID. */
async function findMarks(db: Database, projectId: string, { from, to, kinds, first }: MarkRange): Promise<Marks> {
  if (from >= to) throw invalid([{ path: 'from', reason: 'must be before `to`' }]);
  if (first < 1 || first > MAX_MARKS) throw invalid([{ path: 'first', reason: `must be from 1 to ${MAX_MARKS}` }]);
  const where = {
    projectId,
    operation: { in: operationsOf(kinds) },
    result: { in: ['DONE', 'UNKNOWN'] },
    at: { gte: from, lt: to },
  };
  const found = await findEntries(db, where, { take: first + 1 });
  const oldest = await db.auditEntry.findFirst({ orderBy: { sequence: 'asc' }, select: { at: true, sequence: true } });
  // The retention deletes from the first entry on.
  const isStored = oldest !== null && (oldest.sequence === 1 || oldest.at <= from);
  return { marks: found.slice(0, first), isComplete: found.length <= first && isStored };
}

builder.prismaObjectFields(Project, (t) => ({
  marks: t.field({
    type: MarkList,
    nullable: true,
    description:
      'Changes in the project as marks on the time axis of charts, from the audit. Requires the ADMIN role. Not for tokens that are restricted to brokers.',
    ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
    args: {
      from: t.arg({ type: 'DateTime', description: 'Beginning of the range. Default: a day before `to`.' }),
      to: t.arg({ type: 'DateTime', description: 'End of the range (exclusive). Default: now.' }),
      kinds: t.arg({ type: [MarkKindType], description: 'Default: all kinds.' }),
      first: t.arg.int({
        required: true,
        defaultValue: 100,
        description: `Maximum number of marks, at most ${MAX_MARKS}.`,
      }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: Math.max(1, Math.min(first, MAX_MARKS)) }),
    authScopes: ({ id }, _args, { services, viewer }) => {
      services.projects.visible(id, viewer, 'ADMIN');
      requireWholeProject(requireSignedIn(viewer));
      return true;
    },
    resolve: ({ id }, { from, to, kinds, first }, { db }) => {
      const end = to ?? new Date();
      const start = from ?? new Date(end.getTime() - DAY_MS);
      return findMarks(db, id, { from: start, to: end, kinds: kinds ?? MARK_KINDS, first });
    },
  }),
}));

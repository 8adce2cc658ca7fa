import { builder, inProject, rootAdmin } from '../../gateway/graphql/builder.ts';
import { guarded } from '../../gateway/graphql/guarded.ts';
import { eventFields } from '../../gateway/graphql/live-event.ts';
import { requireRootAdmin, requireSignedIn, requireWholeProject } from '../../platform/auth/viewer.ts';
import { AuditEvent, AuditFilter, whereOf } from './audit-schema.ts';
import type { AuditTailEvent } from './audit-tail.ts';
import { MAX_TAILS } from './audit-tails.ts';

const AuditTailEventType = builder.objectRef<AuditTailEvent>('AuditEventsEvent').implement({
  description:
    'The first event is SNAPSHOT or RESUMED and has no entries. Each CHANGE has new entries. GAP: entries after `after` have been deleted by the retention; the stored entries follow, without a SNAPSHOT.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    sequence: t.field({
      type: 'SafeInt',
      description:
        'Number for `after`, valid in every process: the sequence of the last entry that this event and those before it cover. Entries that do not match the filter are covered, too.',
      resolve: ({ sequence }) => sequence,
    }),
    auditEvents: t.field({
      description: 'CHANGE: new entries, oldest first, at most 100. Each entry is sent once.',
      type: [AuditEvent],
      resolve: (event) => (event.kind === 'CHANGE' ? [...event.entries] : []),
    }),
  }),
});

const LIVE = `New entries are sent within a second after they were written, also by other processes of this service. To miss nothing, pass as \`after\` the \`sequence\` of the newest entry of a query, or of the last event before a reconnect. At most ${MAX_TAILS} different filters per process; beyond them a subscription gets RATE_LIMITED.`;

const FILTER = { type: AuditFilter, description: 'Default: all entries.' } as const;
const AFTER = {
  type: 'SafeInt',
  description:
    'The subscription starts with the entry after this sequence. Default: with the next entry that is written. A number above the newest sequence is ignored.',
} as const;

builder.subscriptionFields((t) => ({
  auditEvents: t.field({
    description: `Changes and refused attempts, live. ${LIVE}`,
    type: AuditTailEventType,
    ...rootAdmin,
    args: { filter: t.arg(FILTER), after: t.arg(AFTER) },
    subscribe: (_root, { filter, after }, context, info) =>
      guarded(context, requireRootAdmin, (signal) =>
        context.services.audit.watch(whereOf(filter, context, info), { signal, after }),
      ),
    resolve: (event) => event,
  }),
  projectAuditEvents: t.field({
    description: `Changes and refused attempts in a project, live. Requires the ADMIN role. Not for tokens that are restricted to brokers. ${LIVE}`,
    type: AuditTailEventType,
    ...inProject('ADMIN'),
    args: {
      projectId: t.arg.id({ required: true, description: 'The project.' }),
      filter: t.arg(FILTER),
      after: t.arg(AFTER),
    },
    subscribe: (_root, { projectId, filter, after }, context, info) =>
      guarded(
        context,
        (viewer) => {
          context.services.projects.visible(projectId, viewer, 'ADMIN');
          requireWholeProject(requireSignedIn(viewer));
        },
        (signal) =>
          context.services.audit.watch({ AND: [whereOf(filter, context, info), { projectId }] }, { signal, after }),
      ),
    resolve: (event) => event,
  }),
}));

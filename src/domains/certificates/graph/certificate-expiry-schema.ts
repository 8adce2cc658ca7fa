import { builder, inProject } from '../../../gateway/graphql/builder.ts';
import { guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { ExpiryEvent } from '../expiry/certificate-expiry.ts';
import { Certificate } from './certificate-schema.ts';

const USUAL_EVENT = 10;

const CertificateExpiringEvent = builder.objectRef<ExpiryEvent>('CertificateExpiringEvent').implement({
  description:
    'An event of `certificateExpiring`: first a snapshot of the certificates that expire soon, then their changes.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    certificates: t.prismaField({
      description:
        'SNAPSHOT: all certificates, earliest expiry first. CHANGE: certificates that expire soon now, that have just expired, or that changed.',
      type: [Certificate],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: async (query, event, _args, { db }) => {
        const ids = (stateIn(event)?.certificates ?? []).map(({ id }) => id);
        const rows = await db.certificate.findMany({ ...query, where: { id: { in: ids } } });
        return rows.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
      },
    }),
    removed: t.idList({
      description: 'CHANGE: ids of certificates that were deleted, or replaced by ones that last longer.',
      resolve: (event) => [...(stateIn(event)?.removed ?? [])],
    }),
  }),
});

builder.subscriptionFields((t) => ({
  certificateExpiring: t.field({
    description: resumable(
      'Follows the certificates of a project that expire within a number of days or have expired.',
    ),
    type: CertificateExpiringEvent,
    ...inProject('VIEWER'),
    args: {
      projectId: t.arg.id({ description: 'A project that the caller may see.', required: true }),
      withinDays: t.arg.int({ description: 'Number of days, 0 to 36500.', defaultValue: 30 }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { projectId, withinDays, after }, context) =>
      guarded(
        context,
        (current) => context.services.projects.visible(projectId, current),
        (signal) => context.services.certificateExpiry.watch(projectId, withinDays ?? 30, { signal, after }),
      ),
    resolve: (event) => event,
  }),
}));

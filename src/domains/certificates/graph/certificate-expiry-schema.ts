import { builder, inProject } from '../../../gateway/graphql/builder.ts';
import { guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { ExpiryEvent } from '../expiry/certificate-expiry.ts';
import { Certificate } from './certificate-schema.ts';

/** Certificates in an event, for the cost of a subscription. */
const USUAL_EVENT = 10;

const CertificateExpiringEvent = builder.objectRef<ExpiryEvent>('CertificateExpiringEvent').implement({
  description: 'First the certificates that expire soon, then those of which something became different.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    certificates: t.field({
      description:
        'SNAPSHOT: all, the first to expire first. CHANGE: those that expire soon from now on, that have expired just now, or that changed.',
      type: [Certificate],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: (event) => [...(stateIn(event)?.certificates ?? [])],
    }),
    removed: t.idList({
      description: 'CHANGE: ids of those that last longer now, or are deleted.',
      resolve: (event) => [...(stateIn(event)?.removed ?? [])],
    }),
  }),
});

builder.subscriptionFields((t) => ({
  certificateExpiring: t.field({
    description:
      'The certificates of a project that expire within so many days, and those that have expired; then each as it becomes one of these, expires, changes, or is replaced or deleted.',
    type: CertificateExpiringEvent,
    ...inProject('VIEWER'),
    args: {
      projectId: t.arg.id({ description: 'A project that the caller sees.', required: true }),
      withinDays: t.arg.int({ description: '0 to 36500.', defaultValue: 30 }),
      after: t.arg.float(resumeArgument),
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

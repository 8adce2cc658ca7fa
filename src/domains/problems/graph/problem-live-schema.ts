import { builder, inProject, rootAdmin } from '../../../gateway/graphql/builder.ts';
import { guarded, guardedProject } from '../../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { requireRootAdmin } from '../../../platform/auth/viewer.ts';
import type { ProblemEvent } from '../problem-feeds.ts';
import { ProblemType } from './problem-schema.ts';

/** Assumed entries of an event, for the cost of a subscription. */
const USUAL_EVENT = 20;

const ProblemsEvent = builder.objectRef<ProblemEvent>('ProblemsEvent').implement({
  description: 'The first event has the open problems, each further event those that opened, changed or closed.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    ...partsLeftField(t, (event) => event),
    problems: t.field({
      description:
        'SNAPSHOT: all open problems, or the first part of them (see `partsLeft`). CHANGE: problems that opened or changed; one with `closedAt` has closed and is no longer part of the state.',
      type: [ProblemType],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: (event) => [...(stateIn(event)?.problems ?? [])],
    }),
    removed: t.idList({
      description: 'CHANGE: ids of open problems that were deleted with their project.',
      resolve: (event) => [...(stateIn(event)?.removed ?? [])],
    }),
  }),
});

builder.subscriptionFields((t) => ({
  problems: t.field({
    description: resumable('The open problems of a project and its brokers that the caller may see.'),
    type: ProblemsEvent,
    ...inProject('VIEWER'),
    args: {
      projectId: t.arg.id({ description: 'A project in which the caller has a role.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { projectId, after }, context) =>
      guardedProject(context, projectId, context.services.brokers, (signal) =>
        context.services.problems.watch(projectId, context.viewer, { signal, after }),
      ),
    resolve: (event) => event,
  }),
  serviceProblems: t.field({
    description: resumable('The open problems of the service itself, such as a full disk. For root administrators.'),
    type: ProblemsEvent,
    ...rootAdmin,
    args: { after: t.arg(resumeArgument) },
    subscribe: (_root, { after }, context) =>
      guarded(context, requireRootAdmin, (signal) =>
        context.services.problems.watch(null, context.viewer, { signal, after }),
      ),
    resolve: (event) => event,
  }),
}));

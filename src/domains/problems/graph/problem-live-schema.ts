import type { RequestContext } from '../../../gateway/context.ts';
import { builder, requires } from '../../../gateway/graphql/builder.ts';
import { guarded, visibilityCheck } from '../../../gateway/graphql/guarded.ts';
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
      description: 'CHANGE: ids of open problems that were deleted with their broker or project.',
      resolve: (event) => [...(stateIn(event)?.removed ?? [])],
    }),
  }),
});

interface Target {
  readonly projectId?: string | null | undefined;
}

builder.subscriptionFields((t) => ({
  problems: t.field({
    description: resumable(
      'The open problems of a project that the caller may see, or, without `projectId`, those of the service itself.',
    ),
    type: ProblemsEvent,
    authScopes: (_parent: unknown, { projectId }: Target, { viewer, services }: RequestContext) => {
      if (projectId == null) requireRootAdmin(viewer);
      else services.projects.visible(projectId, viewer);
      return true;
    },
    ...requires('VIEWER'),
    args: {
      projectId: t.arg.id({
        description: 'A project in which the caller has a role. Null: the service itself, for root administrators.',
      }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { projectId, after }, context) => {
      const { services, viewer } = context;
      const check =
        projectId == null
          ? (current: typeof viewer) => void requireRootAdmin(current)
          : visibilityCheck(context, projectId, services.brokers);
      return guarded(context, check, (signal) => services.problems.watch(projectId ?? null, viewer, { signal, after }));
    },
    resolve: (event) => event,
  }),
}));

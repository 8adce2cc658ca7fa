import type { RequestContext } from '../../../gateway/context.ts';
import { builder, inProject, requires } from '../../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../../gateway/graphql/node.ts';
import { payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { belongsToProject } from '../../../gateway/graphql/type-scopes.ts';
import { requireSignedIn, requireWholeProject, seesWholeProject } from '../../../platform/auth/viewer.ts';
import { notFound, OutOfSight } from '../../../platform/errors.ts';
import type { ProjectRecord } from '../../projects/project-cache.ts';
import { PROJECT_ID, Project } from '../../projects/project-schema.ts';
import {
  changedThresholds,
  THRESHOLDS,
  type ThresholdName,
  thresholdNames,
  thresholdsOf,
} from '../model/problem-thresholds.ts';
import type { ProblemRecord } from '../storage/problem-cache.ts';
import type { SilenceRecord } from '../storage/problem-silences.ts';
import { ProblemKindType, ProblemSeverityType } from './problem-enums.ts';
import { ProblemType } from './problem-schema.ts';

const PROBLEM_ID = 'Id of the problem: `prb_…`.';

const AcknowledgeProblemInput = builder.inputType('AcknowledgeProblemInput', {
  description: 'An open problem that a person knows of.',
  fields: (t) => ({
    problemId: t.id({ required: true, description: PROBLEM_ID }),
    note: t.string({ description: 'Text for other users, at most 4,000 characters.' }),
  }),
});

const UnacknowledgeProblemInput = builder.inputType('UnacknowledgeProblemInput', {
  description: 'A problem with an acknowledgement.',
  fields: (t) => ({ problemId: t.id({ required: true, description: PROBLEM_ID }) }),
});

const problemPayload = payloadsWith<{ readonly problem: ProblemRecord }>({
  description: 'The problem that was changed.',
  fields: (t) => ({
    problem: t.expose('problem', { description: 'The problem after the change.', type: ProblemType }),
  }),
});

type ProblemTarget = { readonly input: { readonly problemId: string } };

/** The EDITOR role in the project of the problem; a problem of the service requires a root administrator. */
const onProblem = {
  authScopes: (_parent: unknown, { input }: ProblemTarget, { viewer, services }: RequestContext) => {
    services.problems.visible(input.problemId, viewer, 'EDITOR');
    return true;
  },
  ...requires('EDITOR', { elsewhere: 'NOT_FOUND' }),
};

const SilenceFilter = builder.inputType('ProblemSilenceFilter', {
  description: 'Problems that match all given conditions, also later ones.',
  fields: (t) => ({
    brokerIds: t.idList({ description: 'Only problems of these brokers.' }),
    subjectIds: t.idList({ description: 'Only problems of these subjects.' }),
    kinds: t.field({ description: 'Only these kinds.', type: [ProblemKindType] }),
    severities: t.field({ description: 'Only these severities.', type: [ProblemSeverityType] }),
  }),
});

export const ProblemSilence = builder.objectRef<SilenceRecord>('ProblemSilence').implement({
  description: 'A time in which problems of a project are silent, for example during maintenance.',
  ...belongsToProject(({ projectId }: SilenceRecord) => projectId),
  interfaces: [Node],
  fields: (t) => ({
    until: t.expose('until', { description: 'When it ends.', type: 'DateTime' }),
    reason: t.exposeString('reason', { description: 'Why the problems are silent.' }),
    filter: t.expose('filter', {
      description: 'Which problems are silent, as in `silenceProblems`. Null: all of the project.',
      type: 'JSON',
      nullable: true,
    }),
    createdBy: t.exposeString('createdBy', { description: 'E-mail address of the user, or name of the token.' }),
    createdAt: t.expose('createdAt', { description: 'When it began.', type: 'DateTime' }),
  }),
});

findsNode('problemSilence', (id, { services, viewer }) => silenceOf(id, { services, viewer }));

/** Errors: NOT_FOUND. */
function silenceOf(id: string, { services, viewer }: Pick<RequestContext, 'services' | 'viewer'>): SilenceRecord {
  const silence = services.problems.silences.get(id);
  if (silence === null) throw notFound('problemSilence', id);
  if (!seesWholeProject(viewer, silence.projectId)) throw new OutOfSight('problemSilence', id);
  return silence;
}

const SilenceProblemsInput = builder.inputType('SilenceProblemsInput', {
  description: 'Problems of a project that are silent for a time. They are still listed.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    until: t.field({ type: 'DateTime', required: true, description: 'When the silence ends: within a year.' }),
    reason: t.string({ required: true, description: 'Text for other users: 1 to 4,000 characters.' }),
    filter: t.field({ type: SilenceFilter, description: 'Default: all problems of the project.' }),
  }),
});

const EndSilenceInput = builder.inputType('EndSilenceInput', {
  description: 'The silence to end.',
  fields: (t) => ({ silenceId: t.id({ required: true, description: 'Id of the silence: `sil_…`.' }) }),
});

const SilenceProblemsPayload = builder
  .objectRef<{ readonly silence: SilenceRecord }>('SilenceProblemsPayload')
  .implement({
    description: 'The new silence.',
    fields: (t) => ({ silence: t.expose('silence', { description: 'Where and how long.', type: ProblemSilence }) }),
  });

const EndSilencePayload = builder.objectRef<SilenceRecord>('EndSilencePayload').implement({
  description: 'The silence that was ended.',
  fields: (t) => ({ endedSilenceId: t.exposeID('id', { description: 'Id of the silence.' }) }),
});

type SilenceTarget = { readonly input: { readonly silenceId: string } };

const onSilence = {
  authScopes: (_parent: unknown, { input }: SilenceTarget, context: RequestContext) => {
    const { projectId } = silenceOf(input.silenceId, context);
    context.services.projects.visible(projectId, context.viewer, 'EDITOR');
    if (context.viewer !== null) requireWholeProject(context.viewer);
    return true;
  },
  ...requires('EDITOR', { elsewhere: 'NOT_FOUND' }),
};

const named = <Value>(valueOf: (name: ThresholdName) => Value) =>
  Object.fromEntries(thresholdNames.map((name) => [name, valueOf(name)])) as Record<ThresholdName, Value>;

const ProblemThresholds = builder.objectRef<ProjectRecord>('ProblemThresholds').implement({
  description: 'Above these values, facts are problems.',
  ...belongsToProject(({ id }: ProjectRecord) => id),
  fields: (t) =>
    named((name) =>
      t.int({
        description: THRESHOLDS[name].meaning,
        resolve: ({ problemThresholds }) => thresholdsOf(problemThresholds)[name],
      }),
    ),
});

const SetProblemThresholdsInput = builder.inputType('SetProblemThresholdsInput', {
  description: 'Thresholds of a project. Absent fields do not change; null sets the default again.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    ...named((name) => {
      const { meaning, min, max, fallback } = THRESHOLDS[name];
      return t.int({ description: `${meaning} ${min} to ${max}. Default: ${fallback}.` });
    }),
  }),
});

const SetProblemThresholdsPayload = builder
  .objectRef<{ readonly project: ProjectRecord }>('SetProblemThresholdsPayload')
  .implement({
    description: 'The project whose thresholds were changed.',
    fields: (t) => ({ project: t.expose('project', { description: 'The project after the change.', type: Project }) }),
  });

builder.prismaObjectFields(Project, (t) => ({
  problemSilences: t.field({
    description:
      'The silences of the project that are not over, at most 100, in the order of creation. Not for tokens that are restricted to brokers.',
    type: [ProblemSilence],
    nullable: true,
    ...requires('VIEWER', { elsewhere: 'NOT_ALLOWED' }),
    authScopes: (_project: unknown, _args, { viewer }) => {
      requireWholeProject(requireSignedIn(viewer));
      return true;
    },
    resolve: ({ id }, _args, { services }) => [...services.problems.silences.ofProject(id)],
  }),
  problemThresholds: t.field({
    description: 'Above which values facts are problems of the project.',
    type: ProblemThresholds,
    resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
  }),
}));

builder.mutationFields((t) => ({
  acknowledgeProblem: t.field({
    description:
      'Notes that the caller knows of an open problem. The note remains until the problem has been closed for ten minutes.',
    type: problemPayload('acknowledgeProblem'),
    ...onProblem,
    args: { input: t.arg({ type: AcknowledgeProblemInput, required: true, description: 'The problem.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      problem: await services.problems.acknowledge(input.problemId, input.note ?? null, viewer),
    }),
  }),
  unacknowledgeProblem: t.field({
    description: 'Removes the acknowledgement of a problem.',
    type: problemPayload('unacknowledgeProblem'),
    ...onProblem,
    args: { input: t.arg({ type: UnacknowledgeProblemInput, required: true, description: 'The problem.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      problem: await services.problems.unacknowledge(input.problemId, viewer),
    }),
  }),
  silenceProblems: t.field({
    description:
      'Silences problems of a project until a time, for example during maintenance. Silenced problems open and close, are not counted, and nobody is notified of them.',
    type: SilenceProblemsPayload,
    ...inProject('EDITOR'),
    args: { input: t.arg({ type: SilenceProblemsInput, required: true, description: 'Which, how long and why.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      silence: await services.problems.silence(input, viewer),
    }),
  }),
  endSilence: t.field({
    description: 'Ends a silence before its time.',
    type: EndSilencePayload,
    ...onSilence,
    args: { input: t.arg({ type: EndSilenceInput, required: true, description: 'The silence to end.' }) },
    resolve: (_root, { input }, { services }) => services.problems.endSilence(input.silenceId),
  }),
  setProblemThresholds: t.field({
    description: 'Changes above which values facts are problems of a project.',
    type: SetProblemThresholdsPayload,
    ...inProject('EDITOR'),
    args: { input: t.arg({ type: SetProblemThresholdsInput, required: true, description: 'The changes.' }) },
    resolve: async (_root, { input: { projectId, ...change } }, { services, viewer }) => {
      const { problemThresholds } = services.projects.visible(projectId, viewer);
      const project = await services.projects.update(projectId, {
        problemThresholds: changedThresholds(problemThresholds, change),
      });
      return { project };
    },
  }),
}));

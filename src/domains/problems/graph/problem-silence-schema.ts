import type { RequestContext } from '../../../gateway/context.ts';
import { builder, inProject, requires } from '../../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../../gateway/graphql/node.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { belongsToProject } from '../../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { requireSignedIn, requireWholeProject, seesWholeProject } from '../../../platform/auth/viewer.ts';
import { notFound, OutOfSight } from '../../../platform/errors.ts';
import { PROJECT_ID, Project } from '../../projects/project-schema.ts';
import type { SilenceRecord } from '../storage/problem-silences.ts';
import { ProblemKindType, ProblemSeverityType } from './problem-enums.ts';

const SilenceFilter = builder.inputType('ProblemSilenceFilter', {
  description: 'Problems that match all given conditions, also later ones.',
  fields: (t) => ({
    brokerIds: t.idList({ description: 'Only problems of these brokers.' }),
    subjectIds: t.idList({ description: 'Only problems of these subjects.' }),
    kinds: t.field({ description: 'Only these kinds.', type: [ProblemKindType] }),
    severities: t.field({ description: 'Only these severities.', type: [ProblemSeverityType] }),
  }),
});

const ProblemSilence = builder.objectRef<SilenceRecord>('ProblemSilence').implement({
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
  viewerCanSilenceProblems: t.boolean(
    viewerCan('Mutation.silenceProblems', 'silence problems of the project', ofProject),
  ),
}));

builder.mutationFields((t) => ({
  silenceProblems: t.field({
    description:
      'Silences problems of a project until a time, for example during maintenance. Silenced problems open and close, are not counted, and no user is notified of them.',
    type: SilenceProblemsPayload,
    ...inProject('EDITOR'),
    args: inputArgument(SilenceProblemsInput, 'Which, how long and why.'),
    resolve: async (_root, { input }, { services, viewer }) => ({
      silence: await services.problems.silence(input, viewer),
    }),
  }),
  endSilence: t.field({
    description: 'Ends a silence before its time.',
    type: EndSilencePayload,
    ...onSilence,
    args: inputArgument(EndSilenceInput, 'The silence to end.'),
    resolve: (_root, { input }, { services }) => services.problems.endSilence(input.silenceId),
  }),
}));

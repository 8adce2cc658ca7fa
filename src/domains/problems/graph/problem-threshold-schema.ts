import { builder, inProject } from '../../../gateway/graphql/builder.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { belongsToProject } from '../../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import type { ProjectRecord } from '../../projects/project-cache.ts';
import { PROJECT_ID, Project } from '../../projects/project-schema.ts';
import {
  changedThresholds,
  THRESHOLDS,
  type ThresholdName,
  thresholdNames,
  thresholdsOf,
} from '../model/problem-thresholds.ts';

const named = <Value>(fieldOf: (name: ThresholdName) => Value) =>
  Object.fromEntries(thresholdNames.map((name) => [name, fieldOf(name)])) as Record<ThresholdName, Value>;

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
  problemThresholds: t.field({
    description: 'Above which values facts are problems of the project.',
    type: ProblemThresholds,
    resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
  }),
  viewerCanSetProblemThresholds: t.boolean(
    viewerCan('Mutation.setProblemThresholds', 'change the thresholds of problems', ofProject),
  ),
}));

builder.mutationFields((t) => ({
  setProblemThresholds: t.field({
    description: 'Changes above which values facts are problems of a project.',
    type: SetProblemThresholdsPayload,
    ...inProject('EDITOR'),
    args: inputArgument(SetProblemThresholdsInput, 'The changes.'),
    resolve: async (_root, { input: { projectId, ...change } }, { services, viewer }) => {
      const { problemThresholds } = services.projects.visible(projectId, viewer);
      const project = await services.projects.update(projectId, {
        problemThresholds: changedThresholds(problemThresholds, change),
      });
      return { project };
    },
  }),
}));

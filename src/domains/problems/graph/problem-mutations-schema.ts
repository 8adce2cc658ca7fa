import type { RequestContext } from '../../../gateway/context.ts';
import { builder, requires } from '../../../gateway/graphql/builder.ts';
import { inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import type { ProblemRecord } from '../storage/problem-cache.ts';
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

builder.mutationFields((t) => ({
  acknowledgeProblem: t.field({
    description:
      'Notes that the caller knows of an open problem. The note remains until the problem has been closed for ten minutes.',
    type: problemPayload('acknowledgeProblem'),
    ...onProblem,
    args: inputArgument(AcknowledgeProblemInput, 'The problem.'),
    resolve: async (_root, { input }, { services, viewer }) => ({
      problem: await services.problems.acknowledge(input.problemId, input.note ?? null, viewer),
    }),
  }),
  unacknowledgeProblem: t.field({
    description: 'Removes the acknowledgement of a problem.',
    type: problemPayload('unacknowledgeProblem'),
    ...onProblem,
    args: inputArgument(UnacknowledgeProblemInput, 'The problem.'),
    resolve: async (_root, { input }, { services, viewer }) => ({
      problem: await services.problems.unacknowledge(input.problemId, viewer),
    }),
  }),
}));

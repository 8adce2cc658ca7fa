import { builder, signedIn } from '../../../gateway/graphql/builder.ts';
import { COUNTED_BY_PAGE } from '../../../gateway/graphql/page-cost.ts';
import { characterBudget } from '../../../gateway/graphql/walk-limit.ts';
import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { PREVIEW_LIMITS, type PreviewedSample, previewQuery } from '../query/preview-query.ts';

const StreamOutcome = builder.enumType('StreamOutcome', {
  description: 'What becomes of a message in a stream.',
  values: {
    PASS: { description: 'It leaves: it would be published and stored.' },
    FILTERED: { description: 'A selected path is missing, or `where` is not met.' },
    FAILED: { description: 'It is no JSON, or has no number where one is needed.' },
  } as const satisfies Record<PreviewedSample['outcome'], object>,
});

const StreamPreviewResult = builder.objectRef<PreviewedSample>('StreamPreviewResult').implement({
  description: 'What becomes of one sample.',
  fields: (t) => ({
    outcome: t.expose('outcome', { description: 'Whether it leaves.', type: StreamOutcome }),
    output: t.field({
      description: 'What would be published. Null: nothing.',
      type: 'JSON',
      nullable: true,
      resolve: ({ output }) => output,
    }),
    payload: t.exposeString('payload', { description: '`output` as text, to the letter.', nullable: true }),
    reason: t.exposeString('reason', { description: 'Why it does not leave. Null: it does.', nullable: true }),
    at: t.field({
      description: 'When it was taken to arrive.',
      type: 'DateTime',
      resolve: ({ at }) => new Date(at),
    }),
  }),
});

const StreamPreview = builder.objectRef<{ readonly results: readonly PreviewedSample[] }>('StreamPreview').implement({
  description: 'What a query makes of samples.',
  fields: (t) => ({
    results: t.field({
      description: 'One for each sample, in their order.',
      type: [StreamPreviewResult],
      complexity: COUNTED_BY_PAGE,
      resolve: ({ results }) => [...results],
    }),
  }),
});

builder.queryFields((t) => ({
  previewStream: t.field({
    description:
      'What a stream with this query would make of messages; nothing is created, and no broker is asked. INVALID with every issue of a query that cannot be.',
    type: StreamPreview,
    ...signedIn,
    complexity: ({ samples }) => ({ field: samples.length, multiplier: Math.max(1, samples.length) }),
    args: {
      query: t.arg({
        description: '`{ select: […], where: […] }`, as `createStream` takes it.',
        type: 'JSON',
        required: true,
      }),
      samples: t.arg({
        description: `Payloads in the order of their arrival: texts as they are, other values as JSON. ${PREVIEW_LIMITS.samples} at most, and 4 MiB in all. The samples and outputs of all previews of a request have at most 8 MiB, else TOO_LARGE.`,
        type: ['JSON'],
        required: true,
      }),
      start: t.arg({ description: 'When the first one arrives. Without it: now.', type: 'DateTime' }),
      spacingSeconds: t.arg.float({
        description: 'Time from each to the next; time buckets go by it.',
        defaultValue: 1,
      }),
    },
    resolve: async (_root, { query, samples, start, spacingSeconds }, context) => {
      try {
        const clock = { start: start?.getTime() ?? Date.now(), spacingSeconds: spacingSeconds ?? 1 };
        return { results: await runInSlices(previewQuery(query, samples, clock, characterBudget(context))) };
      } catch (error) {
        throw error instanceof ServiceError ? withPlaces(error, argumentAt) : error;
      }
    },
  }),
}));

const argumentAt = (pointer: string): string => pointer.slice(1).replaceAll('/', '.');

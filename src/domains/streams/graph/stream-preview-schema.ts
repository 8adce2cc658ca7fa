import { PREVIEW_LIMITS, type PreviewedSample, previewQuery } from '../../../data-plane/streams/query/preview-query.ts';
import { builder, signedIn } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { COUNTED_BY_PAGE } from '../../../gateway/graphql/page-cost.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { characterBudget } from '../../../gateway/graphql/walk-limit.ts';
import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';

const StreamOutcome = describedEnum<PreviewedSample['outcome']>(
  'StreamOutcome',
  'The result of a query for one message.',
  {
    PASS: 'The message passes: the output would be published and stored.',
    FILTERED: 'A selected path is missing, or the message does not meet `where` or `filter`.',
    FAILED:
      'The message is not JSON, has no number where one is required, or an expression cannot be evaluated for it.',
  },
);

const StreamPreviewResult = builder.objectRef<PreviewedSample>('StreamPreviewResult').implement({
  description: 'The result for one sample.',
  fields: (t) => ({
    outcome: t.expose('outcome', {
      description: 'Whether the query would publish and store the sample, and if not, why.',
      type: StreamOutcome,
    }),
    output: t.field({
      description:
        'The output that would be published. Null if the sample does not pass, or if an empty query passes a sample that is not JSON.',
      type: 'JSON',
      nullable: true,
      resolve: ({ output }) => output,
    }),
    payload: t.exposeString('payload', {
      description: '`output` as text, exactly as it would be published.',
      nullable: true,
    }),
    reason: t.exposeString('reason', {
      description: 'Why the sample does not pass. Null if it passes.',
      nullable: true,
    }),
    at: knownTimeField(t, 'The assumed time of arrival.', ({ at }) => at),
  }),
});

const StreamPreview = builder.objectRef<{ readonly results: readonly PreviewedSample[] }>('StreamPreview').implement({
  description: 'The results of a query for samples.',
  fields: (t) => ({
    results: t.field({
      description: 'One result for each sample, in the order of the samples.',
      type: [StreamPreviewResult],
      complexity: COUNTED_BY_PAGE,
      resolve: ({ results }) => [...results],
    }),
  }),
});

builder.queryFields((t) => ({
  previewStream: t.field({
    description:
      'Runs a query on samples. Creates nothing, and queries no broker. INVALID with all issues of an invalid query.',
    type: StreamPreview,
    ...signedIn,
    complexity: ({ samples }) => ({ field: samples.length, multiplier: Math.max(1, samples.length) }),
    args: {
      query: t.arg({
        description:
          '`{ select: […], where: […] }` or `{ expression: { filter, output } }`, as in `createStream`. `right` of a condition may be `{ number: "9007199254740993" }`, for a number with more digits than JavaScript numbers have. Numbers keep all their digits.',
        type: 'JSON',
        required: true,
      }),
      samples: t.arg({
        description: `Payloads in the order of their arrival: strings unchanged, other values as JSON. At most ${PREVIEW_LIMITS.samples} samples of together 1 MiB. TOO_LARGE if the samples and outputs of all previews of a request exceed 2 MiB; an output counts twice, as value and as text.`,
        type: ['JSON'],
        required: true,
      }),
      start: t.arg({ description: 'Arrival of the first sample. Default: now.', type: 'DateTime' }),
      spacingSeconds: t.arg.float({
        description: 'Interval between the arrivals of two samples, for time buckets.',
        defaultValue: 1,
      }),
      topic: t.arg.string({
        description: 'The topic of all samples, for expressions. Default: an empty text.',
        defaultValue: '',
      }),
    },
    resolve: async (_root, { query, samples, start, spacingSeconds, topic }, context) => {
      try {
        const options = {
          start: start?.getTime() ?? Date.now(),
          spacingSeconds: spacingSeconds ?? 1,
          topic: topic ?? '',
        };
        return { results: await runInSlices(previewQuery(query, samples, options, characterBudget(context))) };
      } catch (error) {
        throw error instanceof ServiceError ? withPlaces(error, argumentAt) : error;
      }
    },
  }),
}));

const argumentAt = (pointer: string): string => pointer.slice(1).replaceAll('/', '.');

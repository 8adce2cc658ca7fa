import { expect, test } from 'vitest';
import {
  PREVIEW_LIMITS,
  type PreviewOptions,
  previewQuery as previewSteps,
} from '../../../../src/data-plane/streams/query/preview-query.ts';
import { runSync } from '../../../../src/platform/scheduling/sliced-task.ts';

const QUERY = {
  select: [
    { source: '[v]', target: '[sum]', function: 'sum' },
    { function: 'time_bucket', intervalsize: 60 },
    { source: 'timestamp', target: '[at]' },
  ],
};
const CLOCK = { start: 60_000, spacingSeconds: 20, topic: 'plant/line1' };
const LIMIT = 4 * 1024 * 1024;

const previewQuery = (
  query: unknown,
  samples: readonly unknown[],
  clock: PreviewOptions,
  budget = { limit: LIMIT, charactersLeft: LIMIT },
) => runSync(previewSteps(query, samples, clock, budget));

test('samples arrive one after the other, each with its result and time', () => {
  const samples = [{ v: 1 }, { v: 2 }, {}, { v: 'x' }, '{"v": 4}', 'no JSON', 7];
  const previewed = previewQuery(QUERY, samples, CLOCK);
  expect(previewed.map(({ at }) => at / 1_000)).toEqual([60, 80, 100, 120, 140, 160, 180]);
  expect(previewed.map(({ outcome, output, reason }) => (outcome === 'PASS' ? output : [outcome, reason]))).toEqual([
    { sum: 1, at: 60 },
    { sum: 3, at: 80 },
    ['FILTERED', '[v] is missing'],
    ['FAILED', '[v] is not a number'],
    { sum: 4, at: 140 },
    ['FAILED', 'the payload is not JSON'],
    ['FILTERED', '[v] is missing'],
  ]);
  expect(previewed[0]).toMatchObject({ payload: '{"sum":1,"at":60}', reason: null });
});

test('without select the payload is returned unchanged, including blanks', () => {
  const [text, value] = previewQuery({}, ['{ "v": 1.0 }', { v: null }], CLOCK);
  expect(text).toMatchObject({ outcome: 'PASS', payload: '{ "v": 1.0 }' });
  expect(JSON.stringify(text?.output)).toBe('{"v":1.0}');
  expect(previewQuery({}, ['no JSON'], CLOCK)).toMatchObject([{ outcome: 'PASS', payload: 'no JSON', output: null }]);
  expect(value).toMatchObject({ outcome: 'PASS', payload: '{"v":null}', output: { v: null } });
});

test('a sample that cannot be written as JSON fails by itself', () => {
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
  expect(previewQuery({}, [deep, undefined, 1], CLOCK)).toMatchObject([
    { outcome: 'FAILED' },
    { outcome: 'FAILED' },
    { outcome: 'PASS' },
  ]);
});

test.each([
  ['/query/select', { query: { select: 1 } }],
  ['/samples', { samples: Array(PREVIEW_LIMITS.samples + 1).fill(1) }],
  ['/samples', { samples: ['x'.repeat(PREVIEW_LIMITS.total), 1] }],
  ['/start', { start: Number.NaN }],
  ['/spacingSeconds', { spacingSeconds: -1 }],
  ['/spacingSeconds', { spacingSeconds: 1e15 }],
])('what cannot be tried is refused at %s', (path, given) => {
  const { query, samples, start, spacingSeconds } = { query: {}, samples: [1], start: 0, spacingSeconds: 0, ...given };
  expect(() => previewQuery(query, samples, { start, spacingSeconds, topic: '' })).toThrow(
    expect.objectContaining({ code: 'INVALID', info: { issues: [expect.objectContaining({ path })] } }),
  );
});

test('as many and as large samples as may be are tried, and what they make is bounded', () => {
  expect(
    previewQuery({}, Array(PREVIEW_LIMITS.samples).fill(1), { start: 0, spacingSeconds: 0, topic: '' }),
  ).toHaveLength(1_000);
  const samples = ['x'.repeat(PREVIEW_LIMITS.total - 10), 1].map((v) => JSON.stringify(v));
  expect(previewQuery({}, samples.slice(0, 1), CLOCK)).toMatchObject([{ outcome: 'PASS' }]);
});

test('the samples and outputs of all previews share a budget, and beyond it a preview is refused before its output is made', () => {
  const tooLarge = expect.objectContaining({ code: 'TOO_LARGE', info: { limit: LIMIT } });
  const selecting = (items: number) => ({
    select: Array.from({ length: items }, (_, index) => ({ source: '[v]', target: `[${index}]` })),
  });
  // An output counts twice.
  const samples = [{ v: 'x'.repeat(256 * 1024) }];
  expect(previewQuery(selecting(7), samples, CLOCK)).toMatchObject([{ outcome: 'PASS' }]);
  expect(() => previewQuery(selecting(8), samples, CLOCK)).toThrow(tooLarge);
  expect(() => previewQuery(selecting(66), samples, CLOCK)).toThrow(tooLarge);

  const budget = { limit: LIMIT, charactersLeft: LIMIT };
  const twice = () => previewQuery({}, samples, CLOCK, budget);
  for (let preview = 0; preview < 5; preview++) expect(twice()).toHaveLength(1);
  expect(twice).toThrow(tooLarge);
  expect(twice).toThrow(tooLarge);
});

test('after an output that is too large no other preview of the request does any work', () => {
  const select = Array.from({ length: 66 }, (_, index) => ({ source: '[v]', target: `[${index}]` }));
  const budget = { limit: LIMIT, charactersLeft: LIMIT };
  const preview = (samples: readonly unknown[]) => () => previewQuery({ select }, samples, CLOCK, budget);
  expect(preview([{ v: 'x'.repeat(512 * 1024) }])).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
  let reads = 0;
  const sample = {
    get v() {
      reads += 1;
      return 'x';
    },
  };
  expect(preview([sample])).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
  expect(reads).toBe(0);
});

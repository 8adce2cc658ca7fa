import fc from 'fast-check';
import { expect, test } from 'vitest';
import { QUERY_LIMITS, queryIssues } from '../../../../src/data-plane/streams/query/query-issues.ts';
import { runs } from '../../../support/suite.ts';

const A = '[a]';
const copy = { source: A, target: A };
const bucket = { function: 'time_bucket', intervalsize: 60 };
const chars = (length: number) => 'x'.repeat(length);
const select = (...items: unknown[]) => ({ select: items });
const where = (condition: unknown, ...items: unknown[]) => ({ select: items, where: [condition] });
const is = { operator: '==', left: A, right: 1 };

/** Refused values with path and reason, and accepted ones. */
const RULES: readonly (readonly [refused: unknown, path: string, reason: RegExp, taken: unknown])[] = [
  [null, '', /^must be an object/, {}],
  [[], '', /^must be an object/, { select: [], where: [] }],
  ['{}', '', /^must be an object/, {}],
  [{ selct: [] }, '/selct', /^is not known here.*"select", "where".*is "select" meant\?$/, { select: [] }],
  [{ 'a/~': 1 }, '/a~1~0', /^is not known here/, {}],
  [JSON.parse('{"__proto__":{"select":1}}'), '/__proto__', /^is not known here/, {}],
  [{ select: {} }, '/select', /list/, { select: [] }],
  [{ select: null }, '/select', /list/, { select: [copy] }],
  [
    select(...Array.from({ length: QUERY_LIMITS.items + 1 }, (_, i) => ({ source: A, target: `[${i}]` }))),
    '/select',
    /at most 200 items/,
    select(...Array.from({ length: QUERY_LIMITS.items }, (_, i) => ({ source: A, target: `[${i}]` }))),
  ],
  [select(A), '/select/0', /^must be an object/, select(copy)],
  [select(copy, null), '/select/1', /^must be an object/, select(copy)],
  [
    select({ ...copy, fuction: 'min' }),
    '/select/0/fuction',
    /is "function" meant\?$/,
    select({ ...copy, function: 'min' }),
  ],
  [
    select(JSON.parse('{"source":"[a]","target":"[a]","__proto__":{}}')),
    '/select/0/__proto__',
    /^is not known here/,
    select(JSON.parse('{"source":"[__proto__]","target":"[__proto__]"}')),
  ],
  // Sources
  [select({ target: A }), '/select/0/source', /^is needed: a path/, select(copy)],
  [select({ source: '', target: A }), '/select/0/source', /^must be a path/, select({ function: 'count', target: A })],
  [
    select({ source: '*', target: A }),
    '/select/0/source',
    /^must be a path/,
    select({ source: '*', function: 'count', target: A }),
  ],
  [select({ source: 1, target: A }), '/select/0/source', /^must be a path/, select(copy)],
  [
    select({ source: 'speed', target: A }),
    '/select/0/source',
    /is "\[speed\]" meant\?$/,
    select({ source: '[speed]', target: A }),
  ],
  [
    select({ source: 'timestmp', target: A }),
    '/select/0/source',
    /is "timestamp" meant\?$/,
    select({ source: 'timestamp', target: A }),
  ],
  [select({ source: '[a', target: A }), '/select/0/source', /^must be a path/, select({ source: '[[a]', target: A })],
  [select({ source: '[]', target: A }), '/select/0/source', /^must be a path/, select({ source: '[ ]', target: A })],
  [
    select({ source: '[a].[b]', target: A }),
    '/select/0/source',
    /^must be a path/,
    select({ source: '[a][.][b]', target: A }),
  ],
  [
    select({ source: `[${chars(QUERY_LIMITS.path - 1)}]`, target: A }),
    '/select/0/source',
    /at most 2000 characters/,
    select({ source: `[${chars(QUERY_LIMITS.path - 2)}]`, target: A }),
  ],
  [
    select({ source: A.repeat(QUERY_LIMITS.depth + 1), target: A }),
    '/select/0/source',
    /at most 50 keys/,
    select({ source: A.repeat(QUERY_LIMITS.depth), target: A }),
  ],
  [
    select({ source: 'windowstart', target: A }),
    '/select/0/source',
    /time_bucket/,
    select(bucket, { source: 'windowstart', target: A }),
  ],
  [
    select({ source: 'windowend', target: A }),
    '/select/0/source',
    /time_bucket/,
    select({ source: 'windowend', target: A }, bucket),
  ],
  [
    select({ target: A, function: 'sum' }),
    '/select/0/source',
    /^is needed: a path.*with sum/,
    select({ ...copy, function: 'sum' }),
  ],
  [
    select({ source: 'timestamp', target: A, function: 'max' }),
    '/select/0/source',
    /^must be a path/,
    select({ source: '[timestamp]', target: A, function: 'max' }),
  ],
  [
    select({ source: 'timestamp', target: A, function: 'count' }),
    '/select/0/source',
    /^must be a path/,
    select({ ...copy, function: 'count' }),
  ],
  [select({ ...bucket, source: A }), '/select/0/source', /made of the clock/, select({ ...bucket, source: '*' })],
  // Targets
  [select({ source: A }), '/select/0/target', /^is needed/, select({ source: A, target: '' })],
  [select({ source: A, target: 'a' }), '/select/0/target', /is "\[a\]" meant\?$/, select(copy)],
  [
    select({ source: A, target: 'timestamp' }),
    '/select/0/target',
    /^must be a path/,
    select({ source: A, target: '[timestamp]' }),
  ],
  [select({ source: A, target: null }), '/select/0/target', /^must be a path/, select(bucket)],
  [
    select(copy, copy),
    '/select/1/target',
    /also written by \/query\/select\/0\/target$/,
    select(copy, { source: A, target: '' }),
  ],
  [
    select(copy, { source: A, target: '[a][b]' }),
    '/select/1/target',
    /lies within "\[a\]", which \/query\/select\/0\/target writes$/,
    select({ source: A, target: '[a][c]' }, { source: A, target: '[a][b]' }),
  ],
  [
    select({ source: A, target: '[a][b]' }, copy),
    '/select/1/target',
    /"\[a\]" is also written by \/query\/select\/0\/target$/,
    select({ source: A, target: '[ab]' }, copy),
  ],
  // Aliases
  [select({ ...copy, alias: '' }), '/select/0/alias', /not empty/, select({ ...copy, alias: ' ' })],
  [select({ ...copy, alias: 1 }), '/select/0/alias', /text/, select({ ...copy, alias: '1' })],
  [select({ ...copy, alias: '[x' }), '/select/0/alias', /must not begin/, select({ ...copy, alias: 'x[' })],
  [select({ ...copy, alias: 'x]' }), '/select/0/alias', /must not begin/, select({ ...copy, alias: ']x' })],
  [select({ ...copy, alias: chars(201) }), '/select/0/alias', /at most 200/, select({ ...copy, alias: chars(200) })],
  [
    select({ ...copy, alias: 'x' }, { source: A, target: '', alias: 'x' }),
    '/select/1/alias',
    /also the alias at \/query\/select\/0\/alias$/,
    select({ ...copy, alias: 'x' }, { source: A, target: '', alias: 'X' }),
  ],
  // Functions
  [
    select({ ...copy, function: 'avg' }),
    '/select/0/function',
    /^must be one of "min", "max"/,
    select({ ...copy, function: 'max' }),
  ],
  [
    select({ ...copy, function: 'Sum' }),
    '/select/0/function',
    /is "sum" meant\?$/,
    select({ ...copy, function: 'sum' }),
  ],
  [
    select({ ...copy, function: 'constructor' }),
    '/select/0/function',
    /^must be one of/,
    select({ ...copy, function: 'min' }),
  ],
  [
    select(bucket, bucket),
    '/select/1/function',
    /\/query\/select\/0 is one$/,
    select(bucket, { ...copy, function: 'min' }),
  ],
  [select({ function: 'time_bucket' }), '/select/0/intervalsize', /^must be a number of seconds/, select(bucket)],
  [
    select({ ...bucket, intervalsize: 0 }),
    '/select/0/intervalsize',
    /0\.001/,
    select({ ...bucket, intervalsize: 0.001 }),
  ],
  [
    select({ ...bucket, intervalsize: '60' }),
    '/select/0/intervalsize',
    /number/,
    select({ ...bucket, intervalsize: 0.5 }),
  ],
  [
    select({ ...bucket, intervalsize: 1e11 }),
    '/select/0/intervalsize',
    /number/,
    select({ ...bucket, intervalsize: 1e10 }),
  ],
  [
    select({ ...bucket, intervaloffset: 60 }),
    '/select/0/intervaloffset',
    /less than/,
    select({ ...bucket, intervaloffset: 59.9 }),
  ],
  [
    select({ ...bucket, intervaloffset: -1 }),
    '/select/0/intervaloffset',
    /at least 0/,
    select({ ...bucket, intervaloffset: 0 }),
  ],
  [select({ ...bucket, intervaloffset: null }), '/select/0/intervaloffset', /number/, select(bucket)],
  [
    select({ ...copy, intervalsize: 60 }),
    '/select/0/intervalsize',
    /time_bucket only/,
    select({ ...bucket, ...copy, source: '' }),
  ],
  [
    select({ ...copy, intervaloffset: 1 }),
    '/select/0/intervaloffset',
    /time_bucket only/,
    select({ ...bucket, intervaloffset: 1 }),
  ],
  // Where
  [{ where: {} }, '/where', /list/, { where: [] }],
  [{ where: [is, is] }, '/where', /at most one/, { where: [is] }],
  [{ where: [null] }, '/where/0', /^must be an object/, { where: [is] }],
  [where({ ...is, Right: 1 }), '/where/0/Right', /is "right" meant\?$/, where(is)],
  [where({ ...is, operator: '=' }), '/where/0/operator', /^must be one of "=="/, where({ ...is, operator: '<=' })],
  [where({ left: A, right: 1 }), '/where/0/operator', /^must be one of/, where(is)],
  [where({ operator: '==', right: 1 }), '/where/0/left', /^is needed/, where(is)],
  [
    where({ ...is, left: 'm' }),
    '/where/0/left',
    /^must be a path.*or an alias/,
    where({ ...is, left: 'm' }, { ...copy, alias: 'm' }),
  ],
  [
    where({ ...is, left: 'sped' }, { ...copy, alias: 'speed' }),
    '/where/0/left',
    /is "speed" meant\?$/,
    where({ ...is, left: 'speed' }, { ...copy, alias: 'speed' }),
  ],
  [
    where({ ...is, left: 'timestamp' }),
    '/where/0/left',
    /selected with an alias/,
    where({ ...is, left: 'timestamp' }, { source: 'timestamp', target: '', alias: 'timestamp' }),
  ],
  [where({ ...is, right: null }), '/where/0/right', /text, a number, true or false/, where({ ...is, right: '' })],
  [where({ ...is, right: [] }), '/where/0/right', /text, a number, true or false/, where({ ...is, right: 0 })],
  [
    where({ operator: '==', left: A }),
    '/where/0/right',
    /text, a number, true or false/,
    where({ ...is, right: false }),
  ],
  [
    where({ ...is, right: Number.POSITIVE_INFINITY }),
    '/where/0/right',
    /number/,
    where({ ...is, right: Number.MAX_VALUE }),
  ],
  [where({ ...is, right: chars(4_001) }), '/where/0/right', /at most 4000/, where({ ...is, right: chars(4_000) })],
  [
    where({ ...is, operator: '>', right: true }),
    '/where/0/right',
    /no order/,
    where({ ...is, operator: '!=', right: true }),
  ],
  [
    where({ ...is, operator: '<=', right: false }),
    '/where/0/right',
    /no order/,
    where({ ...is, operator: '<=', right: 'false' }),
  ],
  [
    select(...Array.from({ length: 30 }, (_, i) => ({ source: `[${chars(1_700)}]`, target: `[${i}]` }))),
    '',
    /at most 50000 characters/,
    select(...Array.from({ length: 29 }, (_, i) => ({ source: `[${chars(1_600)}]`, target: `[${i}]` }))),
  ],
];

const cases = RULES.map(([refused, path, reason, taken]) => ({ path: `/query${path}`, reason, refused, taken }));

test.each(cases)('a query is refused at $path: $reason', ({ path, reason, refused, taken }) => {
  expect(queryIssues(refused)).toEqual([{ path, reason: expect.stringMatching(reason) }]);
  expect(queryIssues(taken)).toEqual([]);
});

test('all issues of a query are returned together', () => {
  const query = {
    from: 'x',
    select: [{ source: 'a', target: A, function: 'avg' }, { target: '[a][b]', alias: ']' }, 7],
    where: [{ operator: '~', left: 'm', right: {} }],
  };
  expect(queryIssues(query).map(({ path }) => path)).toEqual([
    '/query/from',
    '/query/select/0/function',
    '/query/select/0/source',
    '/query/select/1/source',
    '/query/select/1/target',
    '/query/select/1/alias',
    '/query/select/2',
    '/query/where/0/operator',
    '/query/where/0/left',
    '/query/where/0/right',
  ]);
});

test('at most 50 issues are returned for any query', () => {
  const wrong = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, i]));
  expect(queryIssues({ ...wrong, select: Array.from({ length: 200 }, () => wrong) })).toHaveLength(50);
});

test('any JSON is judged without an error', () => {
  const key = fc.constantFrom('select', 'where', 'source', 'target', 'function', 'alias', 'left', 'right', '__proto__');
  const text = fc.constantFrom('[a]', 'time_bucket', '', '*', '[a][b]', 'count', '==', 'windowend', 'm', '\uD800');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(text, fc.jsonValue(), tie('list'), tie('fields')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    fields: fc.dictionary(fc.oneof(key, fc.string()), tie('value'), { maxKeys: 5 }),
  }));
  fc.assert(
    fc.property(value, (query) => {
      for (const { path, reason } of queryIssues(query)) {
        expect(path).toMatch(/^\/query/);
        expect(reason).not.toBe('');
      }
    }),
    { numRuns: runs(500) },
  );
  expect(queryIssues(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)))).toHaveLength(1);
  const deep = JSON.parse(`{"select":[{"source":${'['.repeat(100_000)}${']'.repeat(100_000)},"target":"[a]"}]}`);
  expect(queryIssues(deep)).toHaveLength(1);
});

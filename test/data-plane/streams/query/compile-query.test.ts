import { expect, test } from 'vitest';
import type { Condition, StreamQuery } from '../../../../src/data-plane/streams/model/stream-query.ts';
import { compileQuery } from '../../../../src/data-plane/streams/query/compile-query.ts';
import { received } from './received.ts';

/** What becomes of each of some payloads: the text that leaves, or the outcome and its reason. */
function outcomes(
  query: StreamQuery,
  payloads: readonly (string | Buffer)[],
  now: (index: number) => number = () => 0,
) {
  const processor = compileQuery(query);
  return payloads.map((payload, index) => {
    const processed = processor.process(received(payload), now(index));
    return processed.outcome === 'PASS' ? processed.text : `${processed.outcome}: ${processed.reason}`;
  });
}

const copyOf = (source: string): StreamQuery => ({ select: [{ source, target: '[v]' }] });
const when = (operator: '==' | '!=' | '>' | '<' | '>=' | '<=', right: Condition['right']): StreamQuery => ({
  where: [{ operator, left: '[v]', right }],
});
const aggregate = (name: 'min' | 'max' | 'sum' | 'count', source = '[v]'): StreamQuery => ({
  select: [{ source, target: '[v]', function: name }],
});
const asV = (...values: readonly string[]) => values.map((value) => `{"v":${value}}`);

test('a query that is none is refused with its issues', () => {
  expect(() => compileQuery({ where: [{ operator: '>', left: 'm', right: 1 }] })).toThrow(
    expect.objectContaining({
      code: 'INVALID',
      info: { issues: [expect.objectContaining({ path: '/query/where/0/left' })] },
    }),
  );
});

test('a payload that is not JSON fails with a query, passes with an empty one, and no reason quotes it', () => {
  const payloads = ['', 'secret', '{"v":1', '{"v":1}x', "{'v':1}", '\uFEFF{"v":1}', Buffer.from([0x22, 0xff, 0x22])];
  expect(outcomes({}, payloads)).toEqual(payloads.map(() => null));
  for (const query of [copyOf('[v]'), when('!=', 5)]) {
    expect(outcomes(query, payloads)).toEqual([
      'FAILED: the payload is empty',
      ...Array.from({ length: 5 }, () => 'FAILED: the payload is not JSON'),
      'FAILED: the payload is not UTF-8',
    ]);
  }
  // The character that stands for what is no UTF-8 may be sent.
  expect(outcomes(copyOf('[v]'), ['{"v":"\uFFFD"}'])).toEqual(['{"v":"\uFFFD"}']);
});

test('without items in select a payload leaves as it is, blanks and all', () => {
  for (const query of [{}, { select: [], where: [] }]) {
    expect(outcomes(query, [' {"v": 1.0} ', '7', 'null', '[]', Buffer.from([0xbf, 0x00])])).toEqual(
      Array(5).fill(null),
    );
  }
  expect(outcomes(when('>', 1), asV('2', '1'))).toEqual([null, 'FILTERED: not [v] > 1']);
});

test('values of any type are copied as they are', () => {
  const values = [
    '1.5',
    '-0.25',
    '1e+21',
    '"a\\"\\\\\\n\u00e9\u{1F600}"',
    '"\\ud800"',
    'true',
    'false',
    'null',
    '[]',
    '{}',
  ];
  values.push('{"a":[1,{"b":null}]}', `"${'long'.repeat(50)}\\n"`);
  expect(outcomes(copyOf('[v]'), asV(...values))).toEqual(asV(...values));
});

test('a path leads through objects only', () => {
  expect(outcomes(copyOf('[v][0]'), asV('{"0":1}', '[1]', '"1"', 'null', '{}'))).toEqual([
    '{"v":1}',
    ...Array.from({ length: 4 }, () => 'FILTERED: [v][0] is missing'),
  ]);
  expect(outcomes(copyOf('[v][length]'), asV('[1]', '"1"'))).toHaveLength(2);
  expect(outcomes(copyOf('[a b][c.d][/]'), ['{"a b":{"c.d":{"/":1}}}'])).toEqual(['{"v":1}']);
});

test('what objects inherit is in no message, and such keys of a message are keys like others', () => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const query: StreamQuery = { select: [{ source: `[${key}]`, target: `[${key}][${key}]` }] };
    expect(outcomes(query, ['{}', `{"${key}":{"x":1}}`])).toEqual([
      `FILTERED: [${key}] is missing`,
      `{"${key}":{"${key}":{"x":1}}}`,
    ]);
  }
  expect(({} as { x?: number }).x).toBeUndefined();
});

test('types differ: == is false, != is true, and nothing is in order', () => {
  const values = asV('"1"', 'true', 'null', '[]', '{}');
  const met = (query: StreamQuery) => outcomes(query, values).map((outcome) => outcome === null);
  expect(met(when('==', 1))).toEqual([false, false, false, false, false]);
  expect(met(when('!=', 1))).toEqual([true, true, true, true, true]);
  for (const operator of ['<', '<=', '>', '>='] as const) {
    expect(met(when(operator, 1))).toEqual([false, false, false, false, false]);
    expect(met(when(operator, ''))).toEqual([operator === '>' || operator === '>=', false, false, false, false]);
  }
  expect(outcomes(when('!=', 1), ['{}', '5'])).toEqual(['FILTERED: [v] is missing', 'FILTERED: [v] is missing']);
});

test('texts are in the order of their bytes, where UTF-16 has another one', () => {
  expect(outcomes(when('>', '\uFF5E'), asV('"\u{1F600}"', '"\uFF5D"', '"\uFF5E"', '"a"'))).toEqual([
    null,
    expect.stringMatching('FILTERED'),
    expect.stringMatching('FILTERED'),
    expect.stringMatching('FILTERED'),
  ]);
  expect(outcomes(when('<=', 'b'), asV('"b"', '"ab"', '"ba"', '""'))).toEqual([
    null,
    null,
    'FILTERED: not [v] <= "b"',
    null,
  ]);
});

test('an aggregate of what is no number fails, and the message counts in no aggregate', () => {
  const query: StreamQuery = {
    select: [
      { target: '[n]', function: 'count' },
      { source: '[v]', target: '[max]', function: 'max' },
      { source: '[w]', target: '[sum]', function: 'sum' },
    ],
  };
  const payloads = ['{"v":9,"w":1}', '{"v":99,"w":"1"}', '{"v":null,"w":1}', '{"v":99}', '{"v":1,"w":2}'];
  expect(outcomes(query, payloads)).toEqual([
    '{"n":1,"max":9,"sum":1}',
    'FAILED: [w] is not a number',
    'FAILED: [v] is not a number',
    'FILTERED: [w] is missing',
    '{"n":2,"max":9,"sum":3}',
  ]);
});

test('count with a source counts the messages that have it, whatever it is', () => {
  expect(outcomes(aggregate('count'), asV('null', '"x"', '1').concat('{}'))).toEqual([
    '{"v":1}',
    '{"v":2}',
    '{"v":3}',
    'FILTERED: [v] is missing',
  ]);
});

test('min and max keep the least and the greatest, below zero too', () => {
  const values = asV('-5', '-7', '3', '0');
  expect(outcomes(aggregate('min'), values)).toEqual(asV('-5', '-7', '-7', '-7'));
  expect(outcomes(aggregate('max'), values)).toEqual(asV('-5', '-5', '3', '3'));
});

test('a sum of decimals is a decimal, also after many messages, and that of integers is exact', () => {
  const processor = compileQuery(aggregate('sum'));
  const add = (value: string) => {
    const processed = processor.process(received(`{"v":${value}}`), 0);
    return processed.outcome === 'PASS' ? processed.text : processed;
  };
  for (let i = 0; i < 99_999; i++) add('0.1');
  expect(add('0.1')).toBe('{"v":10000}');
  expect(add('0.3')).toBe('{"v":10000.3}');
  expect(add('9007199254730990.7')).toBe('{"v":9007199254740991}');
});

test('numbers keep their digits where they are copied, alone and within other values', () => {
  const values = [
    '9007199254740993',
    '18446744073709551615',
    '21.20',
    '1.0',
    '-0',
    '1e400',
    '1E5',
    '0.0000001',
    '1e-999',
  ];
  const structures = values.map((value) => `[null,{"x":${value},"s":"21.20"}]`);
  for (const copied of [...values, ...structures, '1234567890.123456789012345']) {
    expect(outcomes(copyOf('[v]'), asV(copied))).toEqual(asV(copied));
    // The key is in the message twice, or has an escape, so that a search does not find it.
    const nested = [`{"a":{"v":1.50},"v":${copied}}`, `{"v":${copied},"a":{"v":1.50}}`, `{"\\u0076" : ${copied}}`];
    expect(outcomes(copyOf('[v]'), nested)).toEqual(asV(copied, copied, copied));
  }
  // The last one of equal keys counts, as everywhere.
  expect(outcomes(copyOf('[v]'), ['{"v":1.50,"v":2.50}', '{"v":{"a":1.0,"a":2.0}}'])).toEqual(asV('2.50', '{"a":2.0}'));
});

test('conditions and aggregates distinguish numbers that are rounded to the same one', () => {
  const values = asV('9007199254740992', '9007199254740993', '9007199254740993.0', '9007199254740992.5', '1e400', '-0');
  const met = (operator: Parameters<typeof when>[0], right: Parameters<typeof when>[1]) =>
    outcomes(when(operator, right), values).map((outcome) => outcome === null);
  expect(met('==', 9007199254740992)).toEqual([true, false, false, false, false, false]);
  expect(met('==', { number: '9007199254740993' })).toEqual([false, true, true, false, false, false]);
  expect(met('!=', { number: '9007199254740993' })).toEqual([true, false, false, true, true, true]);
  expect(met('<', { number: '9007199254740993' })).toEqual([true, false, false, true, false, true]);
  expect(met('>=', { number: '1e400' })).toEqual([false, false, false, false, true, false]);
  expect(met('==', 0)).toEqual([false, false, false, false, false, true]);
  expect(outcomes(when('==', 21.2), asV('21.20', '21.2', '2120e-2', '21.200000000000000001'))).toEqual([
    null,
    null,
    null,
    'FILTERED: not [v] == 21.2',
  ]);
  expect(outcomes(aggregate('max'), values.slice(0, 5))).toEqual(
    asV('9007199254740992', '9007199254740993', '9007199254740993', '9007199254740993', '1e400'),
  );
  expect(outcomes(aggregate('min'), asV('2.50', '2.5', '2.4999999999999999999'))).toEqual(
    asV('2.50', '2.50', '2.4999999999999999999'),
  );
  expect(outcomes(aggregate('sum'), asV('18446744073709551615', '1', '0.10', '-18446744073709551616'))).toEqual(
    asV('18446744073709551615', '18446744073709551616', '18446744073709551616.1', '0.1'),
  );
  const sum = aggregate('sum').select?.map((item) => ({ ...item, alias: 'total' })) ?? [];
  const right = { number: '18446744073709551616' };
  expect(
    outcomes({ select: sum, where: [{ operator: '==', left: 'total', right }] }, asV('18446744073709551615', '1', '1')),
  ).toEqual([
    'FILTERED: not total == 18446744073709551616',
    '{"v":18446744073709551616}',
    'FILTERED: not total == 18446744073709551616',
  ]);
});

test('numbers with very many digits or a very large exponent cost little, and fail where they cannot be counted', () => {
  const digits = `1${'0'.repeat(50_000)}`;
  const values = asV('1', `1e${'9'.repeat(20)}`, '-1e-999999999', `0.${digits}`, digits);
  expect(outcomes(aggregate('sum'), values)).toEqual([
    '{"v":1}',
    ...Array.from({ length: 2 }, () => expect.stringMatching(/^FAILED: \[v\] has more than 1000 digits/)),
    '{"v":1.1}',
    expect.stringMatching(/^FAILED/),
  ]);
  expect(outcomes(aggregate('max'), values)).toEqual([
    '{"v":1}',
    'FAILED: [v] has an exponent of more than 15 digits',
    '{"v":1}',
    '{"v":1}',
    `{"v":${digits}}`,
  ]);
  expect(outcomes(when('>', { number: '1e400' }), values)).toEqual([
    expect.stringMatching(/^FILTERED/),
    null,
    expect.stringMatching(/^FILTERED/),
    expect.stringMatching(/^FILTERED/),
    null,
  ]);
  // The largest numbers of JavaScript are no limit.
  expect(outcomes(aggregate('sum'), asV('1.5e308', '1e308', '-1e308'))).toEqual(
    asV('1.5e+308', '2.5e+308', '1.5e+308'),
  );
});

test('a value of more than 1,000 levels fails, and passes where it is not written', () => {
  const nested = (levels: number) => `{"w":1,"v":${'['.repeat(levels)}21.20${']'.repeat(levels)}}`;
  const deep = nested(90_000);
  expect(outcomes(copyOf('[v]'), [nested(1_000), nested(1_001), deep])).toEqual([
    nested(1_000).replace('"w":1,', ''),
    'FAILED: [v] has more than 1000 levels',
    'FAILED: [v] has more than 1000 levels',
  ]);
  expect(outcomes(copyOf('[w]'), [deep])).toEqual(['{"v":1}']);
  expect(outcomes({}, [deep])).toEqual([null]);
});

test.each(['{},', '[],', '1,', '{"a":[]},'])('a payload of very many %s fails before it is parsed', (piece) => {
  const many = `[${piece.repeat(Math.ceil(8_000_000 / piece.length))}1]`;
  expect(outcomes(copyOf('[0]'), [many])).toEqual([
    expect.stringMatching(/^FAILED: the payload has more than 100000 values of JSON/),
  ]);
  // As many brackets in a text are no values.
  expect(outcomes(copyOf('[v]'), [JSON.stringify({ v: 1, w: many })])).toEqual(['{"v":1}']);
});

test('a query cannot make very much of a large payload', () => {
  const select = Array.from({ length: 80 }, (_, index) => ({ source: '[v]', target: `[${index}]` }));
  const [large, small] = outcomes({ select }, asV(`"${'x'.repeat(1024 * 1024)}"`, '"x"'));
  expect(large).toMatch(/^FAILED: more than 67108864 characters/);
  expect(small).toMatch(/^\{"0":"x"/);
});

test('buckets are aligned to the clock, in fractions of seconds too, and begin with their first moment', () => {
  const query: StreamQuery = {
    select: [
      { function: 'time_bucket', target: '[b]', intervalsize: 0.5, intervaloffset: 0.1, alias: 'start' },
      { target: '[n]', function: 'count' },
      { source: 'windowstart', target: '[from]' },
      { source: 'windowend', target: '[to]' },
    ],
    where: [{ operator: '>=', left: 'start', right: 0 }],
  };
  const moments = [99, 100, 599, 600, 1_099, 1_100, 99_600];
  expect(outcomes(query, Array(7).fill('{}'), (index) => moments[index] ?? 0)).toEqual([
    'FILTERED: not start >= 0',
    '{"b":0.1,"n":1,"from":0.1,"to":0.6}',
    '{"b":0.1,"n":2,"from":0.1,"to":0.6}',
    '{"b":0.6,"n":1,"from":0.6,"to":1.1}',
    '{"b":0.6,"n":2,"from":0.6,"to":1.1}',
    '{"b":1.1,"n":1,"from":1.1,"to":1.6}',
    '{"b":99.6,"n":1,"from":99.6,"to":100.1}',
  ]);
});

test('without a bucket aggregates are never reset; a clock that is put back begins another bucket', () => {
  const years = (index: number) => index * 1e11;
  expect(outcomes(aggregate('count', ''), ['1', '1', '1'], years)).toEqual(['{"v":1}', '{"v":2}', '{"v":3}']);
  const query: StreamQuery = {
    select: [
      { target: '[n]', function: 'count' },
      { function: 'time_bucket', intervalsize: 60 },
    ],
  };
  const moments = [120_000, 179_999, 60_000, 61_000, 120_000];
  expect(outcomes(query, Array(5).fill('1'), (index) => moments[index] ?? 0)).toEqual(
    [1, 2, 1, 2, 1].map((n) => `{"n":${n}}`),
  );
});

test('where on a value comes before the aggregates, where on an aggregate after them', () => {
  const select = [
    { source: '[v]', target: '[sum]', function: 'sum' as const, alias: 'total' },
    { source: '[v]', target: '', alias: 'now' },
  ];
  const values = asV('1', '5', '2', '6');
  const run = (left: string) => outcomes({ select, where: [{ operator: '>', left, right: 4 }] }, values);
  const expected = ['FILTERED: not now > 4', '{"sum":5}', 'FILTERED: not now > 4', '{"sum":11}'];
  expect(run('now')).toEqual(expected);
  expect(run('[v]')).toEqual(expected.map((outcome) => outcome.replace('now', '[v]')));
  expect(run('total')).toEqual(['FILTERED: not total > 4', '{"sum":6}', '{"sum":8}', '{"sum":14}']);
  // A message that is no number is left out before it can fail.
  const text = outcomes({ select, where: [{ operator: '>', left: '[v]', right: 4 }] }, asV('"x"', '6'));
  expect(text).toEqual(['FILTERED: not [v] > 4', '{"sum":6}']);
});

test('items whose values are left out are needed all the same, and with nothing else an empty object leaves', () => {
  expect(outcomes({ select: [{ source: '[v]', target: '' }] }, asV('1').concat('{}'))).toEqual([
    '{}',
    'FILTERED: [v] is missing',
  ]);
});

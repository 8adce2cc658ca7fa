import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_STEPS } from '../../../../src/data-plane/streams/expression/step-meter.ts';
import type { StreamExpression } from '../../../../src/data-plane/streams/model/stream-query.ts';
import { compileQuery } from '../../../../src/data-plane/streams/query/compile-query.ts';
import { queryIssues } from '../../../../src/data-plane/streams/query/query-issues.ts';
import { busyMs } from '../../../support/busy-time.ts';
import { hardJson } from '../../../support/hard-numbers.ts';
import { runs } from '../../../support/suite.ts';
import { received } from '../query/received.ts';

const NOW = Date.UTC(2026, 1, 28, 23, 59, 30);

/** The text that leaves (`null`: the payload), or the outcome and its reason. */
function outcome(expression: StreamExpression, payload: string, topic?: string): string | null {
  const processed = compileQuery({ expression }).process(received(payload, topic), NOW);
  return processed.outcome === 'PASS' ? processed.text : `${processed.outcome}: ${processed.reason}`;
}

/** Not 1. */
const LONG = `1.${'0'.repeat(101)}1`;

test.each([
  ['(payload.f - 32) * 5 / 9', '{"f":212}', '100'],
  ['{"celsius": (payload.f - 32) / 1.8, "line": levels[1]}', '{"f":50}', '{"celsius":10,"line":"line1"}'],
  ['payload.f % 2 == 1 ? "odd" : "even"', '{"f":7}', 'odd'],
  ['payload.on ? "ON" : "OFF"', '{"on":true}', 'ON'],
  ['topic + "/" + string(qos)', '{}', 'plant/line1/temperature/1'],
  ['size(text)', '[1, 2]', '6'],
  ['payload.values.filter(v, v > 20).map(v, v * 2)', '{"values":[10,21.5,30]}', '[43,60]'],
  ['payload.values.exists(v, v < 0) ? "frost" : "none"', '{"values":[3,-1]}', 'frost'],
  ['has(payload.unit) ? payload.unit : "C"', '{}', 'C'],
  [
    '{"at": time, "hour": time.getHours(), "here": time.getHours("Asia/Kolkata")}',
    '{}',
    '{"at":"2026-02-28T23:59:30.000Z","hour":23,"here":5}',
  ],
  ['[payload, null, true, {"a": {"b": [1]}}]', '{"x":null}', '[{"x":null},null,true,{"a":{"b":[1]}}]'],
  ['payload["Machine Data"].Speed', '{"Machine Data":{"Speed":7}}', '7'],
  // Whole numbers keep their digits; arithmetic with `double` rounds.
  ['payload', '{"id":9007199254740993,"t":21.20}', '{"id":9007199254740993,"t":21.20}'],
  ['{"a": payload.a, "t": payload.a.t}', '{"a":{"t":[21.20,1e2]}}', '{"a":{"t":[21.20,1e2]},"t":[21.20,1e2]}'],
  ['payload.t', '{"t":21.20}', '21.2'],
  ['payload.id', '{"id":18446744073709551615}', '18446744073709551615'],
  [
    '[payload.id, payload.v]',
    '{"id":-9223372036854775808,"v":0.12345678901234567890}',
    '[-9223372036854775808,0.12345678901234567890]',
  ],
  ['payload.id == 18446744073709551615u && payload.id != 18446744073709551614u', '{"id":18446744073709551615}', 'true'],
  ['payload.v == 1234567890.1234567', '{"v":1234567890.123456789012345}', 'false'],
  [
    'payload.v > 1234567890.1234567 && 1 < payload.v && payload.v >= payload.v',
    '{"v":1234567890.123456789012345}',
    'true',
  ],
  [
    '[payload.v, payload.w] == [payload.v, payload.v]',
    '{"v":0.12345678901234567890,"w":0.12345678901234567891}',
    'false',
  ],
  ['payload.v in [0.12345678901234568]', '{"v":0.12345678901234567890}', 'false'],
  ['payload.v * 2 + double(payload.v) - -payload.v', '{"v":0.30000000000000000001}', '1.2'],
  ['{"v": payload.v, "w": payload.w}', `{"v":${LONG},"w":1e1000000000000000}`, `{"v":${LONG},"w":1e1000000000000000}`],
  ['payload.v in [1]', `{"v":${LONG}}`, 'false'],
  ['payload.v * 2', `{"v":${LONG}}`, '2'],
  ['string(payload.v)', '{"v":0.30000000000000000001}', '0.30000000000000000001'],
  ['payload.id == 9007199254740993 && payload.id != 9007199254740992', '{"id":9007199254740993}', 'true'],
  ['payload.__proto__', '{"__proto__":5}', '5'],
])('%s of %s is %s', (output, payload, expected) => {
  expect(queryIssues({ expression: { output } })).toEqual([]);
  expect(outcome({ output }, payload)).toBe(expected);
});

test('a filter decides on the message, and without output the payload is published unchanged', () => {
  const filter = 'payload.value >= 20 && topic.startsWith("plant/")';
  expect(outcome({ filter }, '{ "value": 20.0 }')).toBeNull();
  expect(outcome({ filter }, '{"value":19.9}')).toBe('FILTERED: the filter is false');
  expect(outcome({ filter }, '{"value":21}', 'office/a')).toBe('FILTERED: the filter is false');
  expect(outcome({ filter }, '{"other":1}')).toBe('FILTERED: the filter: a value is missing (at character 9)');
  expect(outcome({ filter, output: 'payload.value' }, '{"value":25}')).toBe('25');
  expect(outcome({ filter: 'payload.value' }, '{"value":"secret"}')).toBe(
    'FAILED: the filter is neither true nor false',
  );
});

test.each([
  ['payload.a.b', '{"a":{}}', 'FILTERED: the output: a value is missing (at character 11)'],
  ['levels[7]', '{}', /^FILTERED: the output: .*\(at character 1\)$/],
  ['payload.a + 1', '{"a":"secret"}', /^FAILED: the output: no such overload: .*string.* \+ int \(at character 1\)$/],
  ['int(payload.a)', '{"a":"secret"}', 'FAILED: the output: it cannot be evaluated (at character 1)'],
  ['{"a": 1}[payload.a]', '{"a":"secret"}', /^FILTERED: the output: a value is missing \(at character \d+\)$/],
  ['1 / int(payload.a)', '{"a":0}', /^FAILED: the output: division by zero/],
  ['payload.a / 0', '{"a":1}', 'FAILED: the output has the number Infinity, which JSON does not have'],
  ['{"a": b"bytes"}', '{}', /^FAILED: the output has a value of a type that JSON does not have/],
  ['payload.a', 'secret', 'FAILED: the payload is not JSON'],
])('%s of %s does not pass, with a reason without the payload', (output, payload, expected) => {
  const told = outcome({ output }, payload);
  expect(told).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  expect(told).not.toContain('secret');
});

test.each([
  [{}, '/query/expression', 'must have "filter", "output" or both'],
  [{ filter: 'payload.a +' }, '/query/expression/filter', 'Unexpected token: EOF (at character 12)'],
  [{ filter: '"text"' }, '/query/expression/filter', 'must be true or false, but is of type string'],
  [{ filter: '1 + true' }, '/query/expression/filter', expect.stringContaining('int + bool')],
  [{ output: 'secrets.x' }, '/query/expression/output', 'Unknown variable: secrets (at character 1)'],
  [{ output: 'x'.repeat(4_001) }, '/query/expression/output', 'must have at most 4000 characters'],
  [{ output: `[${'1,'.repeat(400)}1]` }, '/query/expression/output', expect.stringContaining('Exceeded')],
  [{ output: `${'('.repeat(1_000)}1${')'.repeat(1_000)}` }, '/query/expression/output', expect.any(String)],
  [{ output: 'text.matches("(a+)+$")' }, '/query/expression/output', expect.stringContaining('"matches"')],
  [{ output: '[1].map(x, bytes(text).json())' }, '/query/expression/output', expect.stringContaining('"json"')],
  [{ output: 5 }, '/query/expression/output', 'must be a text with an expression'],
  [{ outputs: 'payload' }, '/query/expression/outputs', expect.stringContaining('output')],
])('%j is refused at %s', (expression, path, reason) => {
  expect(queryIssues({ expression })).toContainEqual({ path, reason });
});

test('an expression stands alone', () => {
  const reason = 'takes the place of "select" and "where"';
  for (const more of [{ select: [] }, { where: [] }]) {
    const query = { expression: { output: 'payload' }, ...more };
    expect(queryIssues(query)).toEqual([{ path: '/query/expression', reason }]);
  }
});

/** The text of a message, doubled `times` times. */
const doubled = (times: number): string =>
  times === 0 ? 'text' : `cel.bind(x${times}, ${doubled(times - 1)}, x${times} + x${times})`;

/** A map, a list of maps, and texts that are searched slowly. */
const LARGE = JSON.stringify({
  m: Object.fromEntries(Array.from({ length: 14_000 }, (_, n) => [`k${n}`, 1])),
  l: Array.from({ length: 3_000 }, () => ({})),
  x: [...'x'.repeat(200)],
  a: 'a'.repeat(300_000),
});
const often = (condition: string): string => `payload.x.all(a, payload.x.all(b, ${condition}))`;

test.each([
  ['compared maps', often('payload.m != {"a": 1}'), LARGE],
  ['ordered maps', often('payload.m < 1'), LARGE],
  ['maps in lists', often('!(payload.m in payload.l)'), LARGE],
  ['sizes of maps', often('size(payload.m) > 1'), LARGE],
  ['keys of maps', often('payload.m.exists(k, true)'), LARGE],
  ['compared bytes', `cel.bind(b, bytes(payload.a), cel.bind(c, bytes(payload.a), ${often('b == c')}))`, LARGE],
  ['errors', often('payload.none'), LARGE],
  ['lists within lists', 'payload.map(a, payload.map(b, payload.map(c, a + b + c)))', `[${'1,'.repeat(2_000)}1]`],
  ['conditions within lists', 'payload.all(a, payload.all(b, payload.all(c, c > 0)))', `[${'1,'.repeat(2_000)}1]`],
  ['doubled texts', doubled(20), `"${'x'.repeat(1_000)}"`],
  [
    'searches of long texts',
    'payload.l.map(a, payload.t.contains("no"))',
    `{"t":"${'x'.repeat(1_000_000)}","l":[${'1,'.repeat(1_000)}1]}`,
  ],
  ['split texts', 'text.split("").map(a, a + a)', `"${'x'.repeat(1_000_000)}"`],
  ['the same value many times', 'payload.map(a, payload)', `[${'1,'.repeat(5_000)}1]`],
  [
    'calculations with long numbers',
    'payload.v.map(a, a * payload.f + double(-payload.f))',
    `{"f":1.${'3'.repeat(1_500_000)},"v":[${'1,'.repeat(5_000)}1]}`,
  ],
  ['time zones', 'payload.map(a, time.getHours("Asia/Kolkata"))', `[${'1,'.repeat(5_000)}1]`],
])('%s end after a bounded number of steps', (_what, output, payload) => {
  const processor = compileQuery({ expression: { output } });
  const since = busyMs();
  for (let time = 0; time < 5; time += 1) {
    expect(processor.process(received(payload), NOW)).toEqual({
      outcome: 'FAILED',
      reason: `the output needs more than ${MAX_STEPS} steps`,
    });
  }
  expect(busyMs() - since).toBeLessThan(1_500);
});

test.each([
  'payload.a.contains(payload.b)',
  'payload.a.indexOf(payload.b) > 0',
  'payload.a.lastIndexOf(payload.b) > 0',
  'size(payload.a.split(payload.b)) > 1',
  'duration(payload.digits) > duration("1s")',
])('%s takes linear time', (filter) => {
  const half = 'a'.repeat(40_000);
  const payload = JSON.stringify({ a: half.repeat(5), b: `${half}b${half}`, digits: '1'.repeat(2_000) });
  const since = busyMs();
  expect(outcome({ filter }, payload)).toMatch(/the filter/);
  expect(busyMs() - since).toBeLessThan(700);
});

test('long parts of texts are found as JavaScript finds them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'a', 'b'), maxLength: 200 });
  const part = fc.tuple(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 }), fc.nat(20));
  fc.assert(
    fc.property(text, part, fc.integer({ min: 0, max: 5 }), (a, [unit, times], n) => {
      const b = unit.repeat(10) + 'a'.repeat(times);
      const whole = `${a}${b}${a}${b}${b}`;
      const payload = JSON.stringify({ whole, b, n });
      const results = ['contains', 'indexOf', 'lastIndexOf', 'split'].map((name) => `payload.whole.${name}(payload.b)`);
      const output = `[${results}, payload.whole.indexOf(payload.b, ${n}), payload.whole.split(payload.b, ${n})]`;
      const parts = whole.split(b);
      expect(JSON.parse(outcome({ output }, payload) ?? '')).toEqual([
        true,
        whole.indexOf(b),
        whole.lastIndexOf(b),
        parts,
        whole.indexOf(b, n),
        n === 0 ? [] : parts.length <= n ? parts : [...parts.slice(0, n - 1), parts.slice(n - 1).join(b)],
      ]);
    }),
    { numRuns: runs(200) },
  );
});

test('no expression and no payload makes a stream throw', () => {
  const part = fc.constantFrom(
    'payload',
    'payload.a',
    'payload[0]',
    'levels',
    'time',
    '1',
    '1.5',
    '"x"',
    'text',
    'qos',
    'null',
  );
  const operator = fc.constantFrom('+', '-', '*', '/', '%', '==', '<', '>=', 'in', '&&', '||');
  const expressions = fc.oneof(
    fc.tuple(part, operator, part).map((parts) => parts.join(' ')),
    fc.tuple(part, part).map(([list, inner]) => `${list}.map(x, ${inner} == x)`),
    fc.tuple(part, part, part).map(([test_, yes, no]) => `${test_} == ${yes} ? {"a": ${yes}} : [${no}]`),
    fc
      .tuple(fc.constantFrom('string', 'int', 'double', 'size', 'bool', 'type', 'dyn'), part)
      .map(([f, of]) => `${f}(${of})`),
  );
  fc.assert(
    fc.property(expressions, hardJson, (output, payload) => {
      if (queryIssues({ expression: { output } }).length > 0) return;
      const processed = compileQuery({ expression: { output } }).process(received(payload), NOW);
      if (processed.outcome === 'PASS') expect(processed.text).toEqual(expect.any(String));
      else expect(processed.reason).toEqual(expect.any(String));
    }),
    { numRuns: runs(2_000) },
  );
});

test.each(['payload.v == 1', 'payload.v > 1', '1.0 == payload.v', 'payload.e == payload.e'])(
  '%s fails for numbers that are too long to be compared',
  (filter) => {
    expect(outcome({ filter }, `{"v":${LONG},"e":1e1000000000000000}`)).toMatch(
      'the filter compares a number with more',
    );
  },
);

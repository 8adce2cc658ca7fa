import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Condition, OPERATORS, type StreamQuery } from '../../../../src/data-plane/streams/model/stream-query.ts';
import { compileQuery } from '../../../../src/data-plane/streams/query/compile-query.ts';
import { queryIssues } from '../../../../src/data-plane/streams/query/query-issues.ts';
import { hardNumber, unitsOf } from '../../../support/hard-numbers.ts';
import { runs } from '../../../support/suite.ts';
import { received } from './received.ts';
import { ReferenceQuery } from './reference-query.ts';

const NAMES = ['a', 'b', 'c c', '0', '__proto__', 'constructor', 'é"\\', '[x'] as const;
const TEXTS = ['', 'a', 'ab', 'b', 'é', 'null', '"\\\n', '\uE000', '\uFFFD', '\u{1F600}', 'x'.repeat(50)] as const;

const key = fc.constantFrom(...NAMES);
/** Eighths: their sums are exact. */
const number = fc.integer({ min: -8_000, max: 8_000 }).map((n) => n / 8);
const scalar = fc.oneof(number, fc.constantFrom(...TEXTS), fc.boolean(), fc.constant(null));

/** JSON texts, so that keys may be there twice and `__proto__` is one of them. */
const { json, object } = fc.letrec<{ json: string; object: string; list: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: scalar.map((value) => JSON.stringify(value)) },
    tie('object'),
    tie('list'),
  ),
  list: fc.array(tie('json'), { maxLength: 3 }).map((parts) => `[${parts.join(',')}]`),
  object: fc
    .array(fc.tuple(key, tie('json')), { minLength: 1, maxLength: 6 })
    .map((entries) => `{${entries.map(([name, text]) => `${JSON.stringify(name)}: ${text}`).join(' , ')}}`),
}));

const path = fc.array(key, { minLength: 1, maxLength: 2 }).map((keys) => `[${keys.join('][')}]`);
const target = (index: number) =>
  fc.constantFrom('', `[t${index}]`, `[n][t${index}]`, `[n][__proto__][t${index}]`, `[${index}]`);
const named = (index: number) => fc.option(fc.constant(`x${index}`), { nil: undefined });

const item = (index: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ source: path, target: target(index), alias: named(index) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        source: fc.oneof({ weight: 5, arbitrary: fc.constant('[n]') }, path),
        target: target(index),
        alias: named(index),
        function: fc.constantFrom('min', 'max', 'sum', 'count'),
      }),
    },
    fc.record({
      source: fc.constantFrom('', '*'),
      target: target(index),
      alias: named(index),
      function: fc.constantFrom('count'),
    }),
    fc.record({
      source: fc.constantFrom('timestamp', 'windowstart', 'windowend'),
      target: target(index),
      alias: named(index),
    }),
    fc.record({
      source: fc.constantFrom('', '*'),
      target: target(index),
      alias: named(index),
      function: fc.constant('time_bucket'),
      intervalsize: fc.constantFrom(1, 7, 60, 0.5),
      intervaloffset: fc.constantFrom(0, 0.25),
    }),
  );

const condition = fc.record({
  operator: fc.constantFrom(...OPERATORS),
  left: fc.oneof(fc.constantFrom('x0', 'x1', 'x2', '[n]'), path),
  right: fc.oneof(number, fc.constantFrom(...TEXTS), fc.boolean()),
});

const query = fc
  .tuple(
    fc.integer({ min: 0, max: 4 }).chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => item(at)))),
    fc.array(condition, { maxLength: 1 }),
  )
  .map(([select, where]) => JSON.parse(JSON.stringify({ select, where })) as StreamQuery)
  .filter((candidate) => queryIssues(candidate).length === 0);

/** Mostly with a number at `[n]`, or nearly no message would be counted in. */
const message = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(number, object).map(([n, text]) => `{"n":${n},${text.slice(1)}`) },
  object,
  json,
  json.map((text) => text.slice(0, -1)),
);
const arrivals = fc.array(fc.tuple(message, fc.integer({ min: 0, max: 20_000 })), { minLength: 1, maxLength: 8 });

test('a compiled query does with every message what the plain reading of it does', () => {
  const outcomes = { PASS: 0, FILTERED: 0, FAILED: 0 };
  fc.assert(
    fc.property(query, arrivals, (asked, messages) => {
      const processor = compileQuery(asked);
      const reference = new ReferenceQuery(asked);
      const told: string[] = [];
      const expected: string[] = [];
      let now = 0;
      for (const [text, later] of messages) {
        now += later;
        const payload = Buffer.from(text);
        const processed = processor.process(received(payload), now);
        outcomes[processed.outcome] += 1;
        const isUnchanged = processed.outcome === 'PASS' && processed.text === null;
        const { outcome, ...passed } = reference.process(payload, now);
        const isAnyPassed = 'output' in passed && passed.output === undefined;
        expected.push('output' in passed && !isAnyPassed ? inOrder(passed.output) : outcome);
        told.push(
          processed.outcome === 'PASS' && !(isAnyPassed && isUnchanged)
            ? inOrder(JSON.parse(processed.text ?? text))
            : processed.outcome,
        );
        if (isUnchanged && (asked.select ?? []).length > 0) told.push('and was left as it is');
      }
      if (told.join('\n') !== expected.join('\n')) expect(told).toEqual(expected);
    }),
    { numRuns: runs(2_000) },
  );
  // Nothing of it was left untried.
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(runs(300));
});

test('whatever bytes come, a query ends in one of its outcomes, and only JSON in UTF-8 passes', () => {
  const processors = [
    { where: [{ operator: '!=', left: '[a]', right: 0 }] },
    {
      select: [
        { source: '[a]', target: '[a]' },
        { source: '[b]', target: '[b]', function: 'sum' },
      ],
    },
  ].map((asked) => compileQuery(asked as StreamQuery));
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.tuple(object, fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
      const payload = Buffer.from(text);
      payload[at % payload.length] = byte;
      return payload;
    }),
  );
  fc.assert(
    fc.property(bytes, (sent) => {
      const payload = Buffer.from(sent);
      const where: Condition[] = [{ operator: '!=', left: '[a]', right: 0 }];
      const isJson = new ReferenceQuery({ where }).process(payload, 0).outcome !== 'FAILED';
      const [outcome, ...others] = processors.map((processor) => processor.process(received(payload), 0).outcome);
      if (!isJson) for (const other of others) if (other !== 'FAILED') expect(other).toBe('FAILED');
      if ((outcome === 'FAILED') === isJson) expect([outcome, isJson]).toBe('the same');
    }),
    { numRuns: runs(2_000) },
  );
});

test('conditions and aggregates agree with arithmetic of integers, and copies have the text of the number', () => {
  const select: StreamQuery['select'] = [
    { source: '[v]', target: '[v]' },
    { source: '[v]', target: '[min]', function: 'min' },
    { source: '[v]', target: '[max]', function: 'max' },
    { source: '[v]', target: '[sum]', function: 'sum' },
  ];
  const numbers = fc.array(hardNumber, { minLength: 1, maxLength: 6 });
  const shape = fc.constantFrom(
    (text: string) => `{"v":${text}}`,
    (text: string) => `{ "v" : ${text} , "w": "x" }`,
    (text: string) => `{"w":{"v":1.50},"v":${text},"\\n":"\\\\"}`,
  );
  fc.assert(
    fc.property(numbers, hardNumber, fc.constantFrom(...OPERATORS), shape, (texts, number, operator, shaped) => {
      const processor = compileQuery({ select });
      const where = compileQuery({ where: [{ operator, left: '[v]', right: { number } }] });
      const plain = compileQuery({ where: [{ operator, left: '[v]', right: Number.MAX_SAFE_INTEGER + 1 }] });
      const units = texts.map(unitsOf);
      for (const [index, text] of texts.entries()) {
        const payload = Buffer.from(shaped(text));
        const processed = processor.process(received(payload), 0);
        const output = processed.outcome === 'PASS' ? processed.text : processed.reason;
        const [, v, min = '', max = '', sum = ''] =
          /^\{"v":(.*),"min":(.*),"max":(.*),"sum":(.*)\}$/.exec(output ?? '') ?? [];
        const seen = units.slice(0, index + 1);
        const inOrderOfValue = seen.toSorted((a, b) => (a < b ? -1 : 1));
        const isRight =
          v === text &&
          unitsOf(min) === inOrderOfValue[0] &&
          unitsOf(max) === inOrderOfValue.at(-1) &&
          unitsOf(sum) === seen.reduce((a, b) => a + b);
        if (!isRight) expect(output).toBe(texts.slice(0, index + 1).join());
        const meets = (limit: bigint) => meetsExactly(operator, seen[index] ?? 0n, limit);
        if ((where.process(received(payload), 0).outcome === 'PASS') !== meets(unitsOf(number)))
          expect(where.process(received(payload), 0)).toBe(`${text} ${operator} ${number}`);
        if ((plain.process(received(payload), 0).outcome === 'PASS') !== meets(unitsOf('9007199254740992')))
          expect(plain.process(received(payload), 0)).toBe(`${text} ${operator} 2^53`);
      }
    }),
    { numRuns: runs(2_000) },
  );
});

function meetsExactly(operator: Condition['operator'], left: bigint, right: bigint): boolean {
  const order = { '<': left < right, '>': left > right, '<=': left <= right, '>=': left >= right };
  return { '==': left === right, '!=': left !== right, ...order }[operator];
}

/** JSON text with the keys of objects in order. */
function inOrder(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inOrder).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, part]) => `${JSON.stringify(name)}:${inOrder(part)}`).join(',')}}`;
}

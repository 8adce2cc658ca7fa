import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasFewShapes, isWithinBounds } from '../../../src/platform/text/json-bounds.ts';
import { busyMs } from '../../support/busy-time.ts';
import { runs } from '../../support/suite.ts';

const bytesOf = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
/** Padding, because short payloads are not counted. */
const PADDING = ' '.repeat(70_000);

interface Counts {
  values: number;
  depth: number;
  readonly shapes: Set<string>;
}

/** What the bounds count, the simple way: each bracket and each comma, the levels, and the sequences of names. */
function count(value: unknown, counts: Counts = { values: 0, depth: 0, shapes: new Set() }, depth = 1): Counts {
  if (typeof value !== 'object' || value === null) return counts;
  const entries = Object.entries(value);
  counts.values += 1 + Math.max(0, entries.length - 1);
  counts.depth = Math.max(counts.depth, depth);
  const names: string[] = [];
  for (const [name, inner] of entries) {
    names.push(name);
    if (!Array.isArray(value)) counts.shapes.add(JSON.stringify(names));
    count(inner, counts, depth + 1);
  }
  return counts;
}

test('values and levels of any document are counted exactly, whatever its strings contain', () => {
  const text = fc.string({ unit: fc.constantFrom('{', '[', ',', ':', '"', '\\', ']', '}', 'a', 'ü') });
  const document = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 6 }, text, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 6 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 6 }),
  })).object;
  fc.assert(
    fc.property(document, (value) => {
      const { values, depth } = count(value);
      const json = bytesOf(JSON.stringify(value) + PADDING);
      expect(isWithinBounds(json, values, depth)).toBe(true);
      if (values > 0) expect(isWithinBounds(json, values - 1, depth)).toBe(false);
      if (depth > 0) expect(isWithinBounds(json, values, depth - 1)).toBe(false);
    }),
    { numRuns: runs(300) },
  );
});

/** Objects with `names` names each, from a pool of `pool` names, in random order. */
function objects(numObjects: number, names: number, nameAt: (object: number, at: number) => string): unknown {
  return Array.from({ length: numObjects }, (_, object) =>
    Object.fromEntries(Array.from({ length: names }, (_, at) => [nameAt(object, at), 1])),
  );
}

test.each([
  ['new names in each object', objects(3_000, 100, (object, at) => `${object}.${at}`)],
  ['one new name in each object', objects(60_000, 1, (object) => `n${object}`)],
  ['one object with many names', objects(1, 100_000, (_, at) => `n${at}`)],
  [
    'the same names in other orders',
    objects(3_000, 100, (object, at) => `n${(object * 7_919 + at * (object + 1)) % 1_009}`),
  ],
])('payloads of %s are refused before they are parsed, in little time', (_what, value) => {
  const json = bytesOf(value);
  const since = busyMs();
  expect([isWithinBounds(json), hasFewShapes(json)]).toEqual([false, false]);
  expect(busyMs() - since).toBeLessThan(200);
});

test.each([
  ['names of 100,000 accounts', { clients: Array.from({ length: 100_000 }, (_, i) => `sensor-${i}-of-the-plant`) }],
  ['30,000 accounts with roles', objects(30_000, 10, (_, at) => `name${at}`)],
  ['a map of 10,000 names', objects(1, 10_000, (_, at) => `n${at}`)],
])('payloads of %s are accepted', (_what, value) => {
  expect(isWithinBounds(bytesOf(value))).toBe(true);
});

test('as many shapes as the bound allows are accepted, and a quarter more are refused', () => {
  const json = (shapes: number) => bytesOf(objects(shapes / 100, 100, (object, at) => `${object}.${at}`));
  expect(count(JSON.parse(json(16_000).toString())).shapes.size).toBe(16_000);
  expect(hasFewShapes(json(16_000))).toBe(true);
  expect(hasFewShapes(json(20_000))).toBe(false);
});

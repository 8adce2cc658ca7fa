import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactJson } from '../../../src/platform/text/exact-json.ts';
import { compareNumbers, decimalOf, type ExactNumber, numberOf } from '../../../src/platform/text/exact-number.ts';
import { hardJson, hardNumber, unitsOf } from '../../support/hard-numbers.ts';
import { runs } from '../../support/suite.ts';

test('JSON is written with the numbers that were read', () => {
  fc.assert(
    fc.property(hardJson, fc.constantFrom('', ' ', '\r\n'), (text, blank) => {
      const spaced = text.replaceAll(/"(?:[^"\\]|\\.)*"|[,:]/g, (part) => (part.length > 1 ? part : part + blank));
      expect(JSON.stringify(parseExactJson(`${blank}${spaced}${blank}`))).toBe(text);
    }),
    { numRuns: runs(2_000) },
  );
});

test('numbers that JavaScript writes as they are remain JavaScript numbers', () => {
  const ordinary = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.maxSafeInteger());
  fc.assert(
    fc.property(ordinary, (number) => {
      const [read] = parseExactJson(`[${number}, 1.0]`) as unknown[];
      expect(read).toBe(Object.is(number, -0) ? 0 : number);
      expect(numberOf(decimalOf(String(number)))).toBe(Object.is(number, -0) ? 0 : number);
    }),
    { numRuns: runs(1_000) },
  );
});

test('numbers are compared by their exact values', () => {
  const number = hardNumber.map((text) => ({ text, read: parseExactJson(text) as number | ExactNumber }));
  fc.assert(
    fc.property(number, number, (one, other) => {
      const difference = unitsOf(one.text) - unitsOf(other.text);
      expect(Math.sign(compareNumbers(one.read, other.read))).toBe(difference < 0n ? -1 : Number(difference > 0n));
      const written = String(numberOf(decimalOf(one.text)));
      expect(unitsOf(written)).toBe(unitsOf(one.text));
    }),
    { numRuns: runs(2_000) },
  );
});

test('exact numbers are read at any depth, and under names of the prototype', () => {
  const nested = (value: string) => `${'['.repeat(100_000)}${value}${']'.repeat(100_000)}`;
  let read = parseExactJson(nested('1.0'));
  while (Array.isArray(read)) [read] = read;
  expect(String(read)).toBe('1.0');
  const named = '{"__proto__":1.0,"toString":-0,"a":{"__proto__":{"b":2.0},"constructor":[null,3.0]}}';
  expect(JSON.stringify(parseExactJson(named))).toBe(named);
  expect(() => parseExactJson('{"secret":1.0')).toThrow(SyntaxError);
});

test('a text has at most 100,000 exact numbers, and any number of others', () => {
  const many = (value: string, count: number) => `[${`${value},`.repeat(count)}1]`;
  expect(parseExactJson(many('1.0', 100_000))).toHaveLength(100_001);
  expect(() => parseExactJson(many('1.0', 100_001))).toThrow('more than 100000 numbers');
  expect(parseExactJson(many('1.5', 200_000))).toHaveLength(200_001);
});

test('the exact numbers of a text have at most 2,000,000 characters', () => {
  const digits = (count: number) => '1'.repeat(count);
  expect(String(parseExactJson(digits(2_000_000)))).toBe(digits(2_000_000));
  expect(() => parseExactJson(digits(2_000_001))).toThrow('more than 2000000 characters');
  expect(() => parseExactJson(`[${digits(1_000_000)},${digits(1_000_001)}]`)).toThrow('more than 2000000 characters');
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactBody, parseExactJson } from '../../../src/platform/text/exact-json.ts';
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

test('a text that is nested too deeply for exact numbers is refused, and read without them', () => {
  const nested = (value: string) => `${'['.repeat(100_000)}${value}${']'.repeat(100_000)}`;
  expect(() => parseExactJson(nested('1.0'))).toThrow(RangeError);
  expect(Array.isArray(parseExactJson(nested('1.5')))).toBe(true);
  expect(() => parseExactJson('{"secret":1.0')).toThrow(SyntaxError);
  // A body of a request is read while others wait.
  const many = (value: string) => `[${`${value},`.repeat(60_000)}1]`;
  expect(() => parseExactBody(many('1.0'))).toThrow('more than 50000 values');
  expect(parseExactBody(many('1.5'))).toHaveLength(60_001);
});

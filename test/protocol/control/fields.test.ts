import { expect, test } from 'vitest';
import { countOf, intOf, timeOf } from '../../../src/protocol/control/fields.ts';

const MAX_INT = 2_147_483_647;
const MAX_TIME = Date.parse('9999-12-31T23:59:59.999Z');

test('a reported time is one that a DateTime has', () => {
  const wrong = [-1, MAX_TIME + 1, 8_640_000_000_000_001, Number.MAX_SAFE_INTEGER, 1e308, Number.NaN, '0', null];
  expect(wrong.map(timeOf)).toEqual(wrong.map(() => null));
  expect([0, 1.5, MAX_TIME].map(timeOf)).toEqual([0, 1, MAX_TIME]);
});

test('a reported number is one that an Int has', () => {
  const wrong = [MAX_INT + 1, -MAX_INT - 2, 1e308, Number.POSITIVE_INFINITY, '1', null];
  expect(wrong.map(intOf)).toEqual(wrong.map(() => null));
  expect([-1, 0, MAX_INT].map(intOf)).toEqual([-1, 0, MAX_INT]);
  expect([-1, 0.5, MAX_INT, 1e308].map(countOf)).toEqual([null, 0, MAX_INT, MAX_INT]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ComparisonBudget,
  SourceTree,
  TooManyComparisons,
} from '../../../../src/data-plane/bridges/mqtt/source-tree.ts';
import { filtersOverlap } from '../../../../src/protocol/mqtt/filter-match.ts';
import { runs } from '../../../support/suite.ts';

const level = fc.constantFrom('a', 'b', '', '+', '+', '$x');
const filter = fc
  .tuple(fc.array(level, { minLength: 1, maxLength: 4 }), fc.constantFrom(true, false, false))
  .map(([levels, endsInHash]) => (endsInHash ? [...levels, '#'] : levels));
const rules = fc.array(fc.record({ levels: fc.oneof(filter, fc.constant(['#'])), target: fc.constantFrom('t', 'u') }), {
  maxLength: 6,
});

test('the tree finds a conflict exactly where two sources overlap, unless only the targets of one source differ', () => {
  fc.assert(
    fc.property(rules, (given) => {
      const tree = new SourceTree(new ComparisonBudget(10_000));
      const conflicts = (one: number, other: number): boolean => {
        const [left, right] = [given[one], given[other]];
        if (!left || !right) return false;
        if (left.levels.join('/') === right.levels.join('/')) return left.target === right.target;
        return filtersOverlap(left.levels, right.levels);
      };
      for (const [index, { levels, target }] of given.entries()) {
        const found = tree.conflict(levels, target);
        const earlier = given.slice(0, index).some((_, other) => conflicts(index, other));
        expect([found !== null, levels]).toEqual([earlier, levels]);
        if (found !== null) expect(conflicts(index, found)).toBe(true);
        tree.add(levels, target, index);
      }
    }),
    { numRuns: runs(3_000) },
  );
});

test('lookups beyond the budget are refused', () => {
  const tree = new SourceTree(new ComparisonBudget(100));
  for (let i = 0; i < 99; i++) tree.add(['a', `b${i}`, 'c'], 't', i);
  expect(() => tree.conflict(['a', '+', 'd'], 't')).toThrow(TooManyComparisons);
});

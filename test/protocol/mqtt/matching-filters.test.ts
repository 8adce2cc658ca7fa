import fc from 'fast-check';
import { expect, test } from 'vitest';
import { filterMatches } from '../../../src/protocol/mqtt/filter-match.ts';
import { matchingFilters } from '../../../src/protocol/mqtt/matching-filters.ts';
import { filterProblem } from '../../../src/protocol/mqtt/topics.ts';

const level = fc.constantFrom('', 'a', 'b', '$c');
const filterLevel = fc.oneof(level, fc.constantFrom('+', '+', '#'));

test('exactly the filters that match a topic are returned', () => {
  fc.assert(
    fc.property(
      fc.array(level, { minLength: 1, maxLength: 7 }).map((levels) => levels.join('/')),
      fc.array(filterLevel, { minLength: 1, maxLength: 8 }).map((levels) => levels.join('/')),
      (topic, filter) => {
        fc.pre(topic !== '' && filterProblem(filter) === null);
        const filters = matchingFilters(topic);
        expect(new Set(filters).size).toBe(filters.length);
        expect(filters.every((named) => filterProblem(named) === null && filterMatches(named, topic))).toBe(true);
        expect(filters.includes(filter)).toBe(filterMatches(filter, topic));
      },
    ),
  );
  expect(matchingFilters('a/b/c/d/e/f/g/h')).toEqual([]);
});

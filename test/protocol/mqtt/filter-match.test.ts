import fc from 'fast-check';
import { expect, test } from 'vitest';
import { filterMatches } from '../../../src/protocol/mqtt/filter-match.ts';
import { runs } from '../../support/suite.ts';

const level = fc.constantFrom('a', 'b', '', '$x');
const topics = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
const filters = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', '', '$x', '+'), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.boolean(),
  )
  .map(([levels, rest]) => [...levels, ...(rest ? ['#'] : [])].join('/'));

/** MQTT 3.1.1 section 4.7, level by level. */
function matchesByTheBook(filter: string, topic: string): boolean {
  const wanted = filter.split('/');
  const given = topic.split('/');
  if (topic.startsWith('$') && (wanted[0] === '+' || wanted[0] === '#')) return false;
  if (wanted.at(-1) === '#') {
    const parent = wanted.slice(0, -1);
    return given.length >= parent.length && parent.every((name, index) => name === '+' || name === given[index]);
  }
  return wanted.length === given.length && wanted.every((name, index) => name === '+' || name === given[index]);
}

test('topic filters match as specified in section 4.7 of MQTT 3.1.1', () => {
  fc.assert(
    fc.property(filters, topics, (filter, topic) => {
      expect(filterMatches(filter, topic), `${filter} on ${topic}`).toBe(matchesByTheBook(filter, topic));
    }),
    { numRuns: runs(3_000) },
  );
});

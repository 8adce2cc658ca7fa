import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  loopReason,
  reachedFrom,
  type StreamEnds,
  streamLoop,
} from '../../../../src/data-plane/streams/definition/stream-loops.ts';
import { filterMatches } from '../../../../src/protocol/mqtt/filter-match.ts';
import { runs } from '../../../support/suite.ts';

const stream = (name: string, sourceTopic: string, targetTopic: string | null): StreamEnds => ({
  name,
  sourceTopic,
  targetTopic,
});

test.each([
  ['nothing is published', [], stream('a', '#', null), null],
  ['its target is another topic', [], stream('a', 'x', 'y'), null],
  ['its target is its source', [], stream('a', 'x', 'x'), ['a', 'a']],
  ['its source matches its target', [], stream('a', 'x/#', 'x/fast'), ['a', 'a']],
  ['its source matches all topics', [], stream('a', '#', 'y'), ['a', 'a']],
  ['another one leads back', [stream('b', 'y', 'x')], stream('a', 'x', 'y'), ['a', 'b', 'a']],
  ['another one leads on', [stream('b', 'y', 'z')], stream('a', 'x', 'y'), null],
  ['another one only stores', [stream('b', 'y', null)], stream('a', 'x', 'y'), null],
  [
    'there is a long way and a short one',
    [stream('b', 'y', 'p'), stream('c', 'p', 'q'), stream('d', 'q', 'x'), stream('e', 'p', 'x')],
    stream('a', 'x', 'y'),
    ['a', 'b', 'e', 'a'],
  ],
  [
    'wildcards lead from one to the next',
    [stream('b', '+/speed', 'alarm/fast'), stream('c', 'alarm/#', 'plant/speed')],
    stream('a', 'plant/+', 'line/speed'),
    ['a', 'b', 'c', 'a'],
  ],
  ['other streams form a loop without it', [stream('b', 'y', 'z'), stream('c', 'z', 'y')], stream('a', 'x', 'y'), null],
  ['the previous definition closes a loop, the new one does not', [stream('a', 'x', 'x')], stream('a', 'x', 'y'), null],
  [
    'the new definition closes a loop',
    [stream('a', 'x', 'y'), stream('b', 'z', 'x')],
    stream('a', 'x', 'z'),
    ['a', 'b', 'a'],
  ],
] as const)('the shortest loop is returned: %s', (_where, others, changed, loop) => {
  expect(streamLoop(others, changed)).toEqual(loop);
});

test('the streams by which messages on a topic reach a stream are returned', () => {
  const streams = [stream('a', 'x', 'y'), stream('b', '+', 'z/1'), stream('c', 'z/#', null), stream('d', 'w', 'x')];
  expect(reachedFrom(streams, 'z/9', 'c')).toEqual(['c']);
  expect(reachedFrom(streams, 'q', 'c')).toEqual(['b', 'c']);
  expect(reachedFrom(streams, 'w', 'a')).toEqual(['d', 'a']);
  expect(reachedFrom(streams, 'z/9', 'a')).toBeNull();
  expect(reachedFrom(streams, 'q', 'nobody')).toBeNull();
  expect(loopReason(['a', 'b', 'a'])).toContain('a -> b -> a');
});

test('a chain is found exactly where following each message, step by step, comes back', () => {
  const topic = fc.constantFrom('a', 'b', 'a/b', 'b/a', 'a/b/a');
  const filter = fc.oneof(topic, fc.constantFrom('+', 'a/+', '+/b', 'b/#', 'a/b/#', '+/+/a'));
  const ends = fc.array(fc.tuple(filter, fc.option(topic)), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(ends, (all) => {
      const streams = all.map(([source, target], index) => stream(`s${index}`, source, target));
      const [changed] = streams as [StreamEnds];
      const feeds = (from: StreamEnds, to: StreamEnds) =>
        from.targetTopic !== null && filterMatches(to.sourceTopic, from.targetTopic);
      const reached = new Set(streams.filter((to) => feeds(changed, to)));
      for (const from of reached) for (const to of streams) if (feeds(from, to)) reached.add(to);
      const chain = streamLoop(streams, changed);
      expect(chain !== null).toBe(reached.has(changed));
      if (chain === null) return;
      expect([chain[0], chain.at(-1)]).toEqual(['s0', 's0']);
      const named = chain.map((name) => streams.find((found) => found.name === name) as StreamEnds);
      for (const [index, to] of named.slice(1).entries()) expect(feeds(named[index] as StreamEnds, to)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test('ten thousand streams that all feed all others are gone through once', () => {
  // Followed edge by edge there would be a hundred million.
  const others = Array.from({ length: 10_000 }, (_, index) => stream(`s${index}`, 'plant/#', `plant/${index}`));
  const changed = stream('new', 'office/+', 'plant/x');
  expect(streamLoop(others, changed)).toBeNull();
  expect(streamLoop([...others, stream('back', 'plant/9999', 'office/1')], changed)).toEqual([
    'new',
    's9999',
    'back',
    'new',
  ]);
  const line = Array.from({ length: 10_000 }, (_, index) => stream(`l${index}`, `line/${index}`, `line/${index + 1}`));
  expect(streamLoop(line, stream('last', 'line/10000', 'line/0'))).toHaveLength(10_002);
});

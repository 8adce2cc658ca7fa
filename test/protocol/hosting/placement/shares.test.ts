import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownerOf, Share } from '../../../../src/protocol/hosting/placement/shares.ts';
import { runs } from '../../../support/suite.ts';

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 6 });
const brokers = Array.from({ length: 300 }, (_, index) => `brk_${index}`);

test('when a process leaves only its brokers move, and when it joins only those that it gets', () => {
  fc.assert(
    fc.property(ids, fc.nat(), (all, nth) => {
      const members = all.map((id) => ({ id, share: 1 }));
      const gone = all[nth % all.length] ?? '';
      const others = members.filter(({ id }) => id !== gone);
      for (const broker of brokers) {
        const [before, after] = [ownerOf(broker, members), ownerOf(broker, others)];
        if (before !== gone) expect(after).toBe(before);
        else expect(after === null).toBe(others.length === 0);
      }
    }),
    { numRuns: runs(20) },
  );
});

test('every process decides equally, whatever the order in which it knows the others', () => {
  fc.assert(
    fc.property(ids, (all) => {
      const members = all.map((id) => ({ id, share: 1 }));
      const reversed = members.toReversed();
      for (const broker of brokers.slice(0, 50)) expect(ownerOf(broker, reversed)).toBe(ownerOf(broker, members));
    }),
    { numRuns: runs(20) },
  );
});

test('brokers are spread by the shares, and a smaller share only gives brokers away', () => {
  const equal = ['a', 'b', 'c'].map((id) => ({ id, share: 1 }));
  const count = (members: typeof equal, id: string) =>
    brokers.filter((broker) => ownerOf(broker, members) === id).length;
  for (const { id } of equal) expect(count(equal, id)).toBeGreaterThan(60);
  const less = equal.map((member) => (member.id === 'a' ? { ...member, share: 0.5 } : member));
  const [before, after] = [count(equal, 'a'), count(less, 'a')];
  expect(after).toBeLessThan(before);
  const received = brokers.filter((broker) => ownerOf(broker, less) === 'a' && ownerOf(broker, equal) !== 'a');
  expect(received).toEqual([]);
  expect(
    count(
      [
        { id: 'a', share: 0 },
        { id: 'b', share: 1 },
      ],
      'a',
    ),
  ).toBe(0);
  expect(ownerOf('brk_1', [{ id: 'a', share: 0 }])).toBeNull();
});

test('a process with more load than others gets a smaller share step by step, and its share back when it has less', () => {
  const share = new Share();
  const look = (load: number, others: number[], count = 100) => {
    for (let step = 0; step < count; step += 1) share.adjust(load, others);
    return share.value;
  };
  expect(look(100, [20, 0])).toBeCloseTo(0.1);
  expect(look(40, [40, 40])).toBeCloseTo(0.1);
  expect(look(10, [55, 55])).toBe(1);
});

test('a share stays if the loads differ by a few brokers, at one look only, or with no other process', () => {
  const share = new Share();
  for (let step = 0; step < 100; step += 1) {
    share.adjust(14, [0]);
    share.adjust(100, []);
    // The others had no brokers yet when they wrote their load.
    share.adjust(20, [0, 0]);
    share.adjust(20, [20, 20]);
  }
  expect(share.value).toBe(1);
});

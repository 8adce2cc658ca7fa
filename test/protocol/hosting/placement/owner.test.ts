import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownerOf } from '../../../../src/protocol/hosting/placement/owner.ts';
import { runs } from '../../../support/suite.ts';

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 6 });
const brokers = Array.from({ length: 300 }, (_, index) => `brk_${index}`);

test('when a process leaves only its brokers move, and when it joins only those that it gets', () => {
  fc.assert(
    fc.property(ids, fc.nat(), (all, nth) => {
      const gone = all[nth % all.length] ?? '';
      const others = all.filter((id) => id !== gone);
      for (const broker of brokers) {
        const [before, after] = [ownerOf(broker, all), ownerOf(broker, others)];
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
      const reversed = all.toReversed();
      for (const broker of brokers.slice(0, 50)) expect(ownerOf(broker, reversed)).toBe(ownerOf(broker, all));
    }),
    { numRuns: runs(20) },
  );
});

test('brokers are spread evenly', () => {
  const owners = brokers.map((broker) => ownerOf(broker, ['a', 'b', 'c']));
  for (const id of ['a', 'b', 'c']) expect(owners.filter((owner) => owner === id).length).toBeGreaterThan(60);
});

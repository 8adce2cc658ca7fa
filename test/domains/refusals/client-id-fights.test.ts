import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientIdFights, type Rival } from '../../../src/protocol/apis/refusals/client-id-fights.ts';

const rival = (address: string | null, username: string | null = 'u'): Rival => ({ address, username });
const [here, there, elsewhere] = [rival('10.0.0.1'), rival('10.0.0.2'), rival('10.0.0.3')];

/** Which takeovers belong to a fight: [closed, by, seconds since the previous one]. */
function fights(...takeovers: readonly (readonly [Rival, Rival, number])[]): boolean[] {
  const rule = new ClientIdFights();
  let now = 0;
  return takeovers.map(([closed, by, seconds]) => {
    now += seconds * 1_000;
    return rule.isFight('x', closed, by, now);
  });
}

test('another account is a fight at once', () => {
  expect(fights([here, rival('10.0.0.1', 'other'), 0])).toEqual([true]);
  expect(fights([rival(null, null), rival(null), 0])).toEqual([true]);
});

test('one client that reconnects, also from another address, is no fight', () => {
  expect(fights([here, here, 0], [here, here, 40], [here, here, 40], [here, here, 40])).not.toContain(true);
  expect(fights([here, there, 0], [there, elsewhere, 40])).toEqual([false, false]);
});

test('two hosts that alternate are a fight from the second takeover on, unless they are slow', () => {
  expect(fights([here, there, 0], [there, here, 500], [here, there, 500])).toEqual([false, true, true]);
  expect(fights([here, there, 0], [there, here, 700])).toEqual([false, false]);
});

test('the third takeover within a minute is a fight, also from one address, and between unknown ones', () => {
  for (const one of [here, rival(null, null)])
    expect(fights([one, one, 0], [one, one, 29], [one, one, 29], [one, one, 40])).toEqual([false, false, true, false]);
});

test('each client id is judged alone, and the memory is bounded', () => {
  const rule = new ClientIdFights();
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 3, maxLength: 50 }), (ids) => {
      expect(ids.map((id) => new ClientIdFights().isFight(id, here, here, 0))).not.toContain(true);
      expect(
        ids.map((id, index) => rule.isFight(`${id} ${index} ${ids.length}`, here, rival('x', 'other'), 0)),
      ).not.toContain(false);
    }),
    { numRuns: 20 },
  );
});

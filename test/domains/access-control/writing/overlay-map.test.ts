import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OverlayMap } from '../../../../src/domains/access-control/writing/overlay-map.ts';
import { runs } from '../../../support/suite.ts';

const KEY = fc.constantFrom('a', 'b', 'c', 'd', '__proto__');
const CHANGE = fc.tuple(KEY, fc.option(fc.nat(9)));

test('an overlay has the entries of a changed copy, and leaves the original as it is', () => {
  const property = fc.property(fc.array(fc.tuple(KEY, fc.nat(9))), fc.array(CHANGE), (entries, changes) => {
    const original = new Map(entries);
    const copy = new Map(entries);
    const overlay = new OverlayMap(original);
    for (const [key, value] of changes) {
      if (value === null) {
        copy.delete(key);
        overlay.delete(key);
      } else {
        copy.set(key, value);
        overlay.set(key, value);
      }
      expect([overlay.size, overlay.has(key), overlay.get(key)]).toEqual([copy.size, copy.has(key), copy.get(key)]);
    }
    expect(new Map(overlay)).toEqual(copy);
    expect([...overlay.keys()].sort()).toEqual([...copy.keys()].sort());
    expect([...overlay.values()].sort()).toEqual([...copy.values()].sort());
    const seen = new Map<string, number>();
    overlay.forEach((value, key) => void seen.set(key, value));
    expect(seen).toEqual(copy);
    expect(original).toEqual(new Map(entries));
  });
  fc.assert(property, { numRuns: runs(300) });
});

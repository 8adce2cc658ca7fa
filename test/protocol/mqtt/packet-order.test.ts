import { expect, test } from 'vitest';
import { PacketOrder } from '../../../src/protocol/mqtt/packet-order.ts';

test('skipped packet identifiers are counted; repeated ones are recognized', () => {
  const order = new PacketOrder();
  const gapsAfter = (...ids: number[]) => {
    for (const id of ids) order.received(id);
    return order.gaps;
  };
  expect(gapsAfter(65_530, 65_531)).toBe(0);
  expect(gapsAfter(65_530, 65_531, 65_532)).toBe(0);
  expect(gapsAfter(65_535)).toBe(1);
  expect(gapsAfter(1, 2)).toBe(1);
  expect(gapsAfter(65_535, 1, 4, 5)).toBe(2);
  expect([order.received(5), order.received(3), order.received(6)]).toEqual([true, true, false]);
  order.begin();
  expect(gapsAfter(1_000, 1_001)).toBe(2);
});

import { expect, test } from 'vitest';
import { UnfinishedPackets } from '../../../src/protocol/mqtt/reading-limits.ts';

test('beyond the budget the connection with the most bytes is closed', () => {
  const cut: string[] = [];
  const budget = new UnfinishedPackets(100);
  const holder = (name: string) => ({ cut: ({ message }: Error) => cut.push(`${name}: ${message}`) });
  const [one, two, three] = [holder('one'), holder('two'), holder('three')];
  budget.set(one, 30);
  budget.set(two, 60);
  budget.set(three, 10);
  expect(cut).toEqual([]);
  budget.set(three, 11);
  expect(cut).toEqual([expect.stringMatching(/^two: .*this link had the most with 60 bytes/)]);
  expect(budget.total).toBe(41);
  budget.set(one, 0);
  budget.set(three, 100);
  expect(cut).toHaveLength(1);
});

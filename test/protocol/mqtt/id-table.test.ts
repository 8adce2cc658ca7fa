import { expect, test } from 'vitest';
import { IdTable } from '../../../src/protocol/mqtt/id-table.ts';

const LARGEST = 65_535;

test('the table equals a Map, with consecutive ids and some that are used for long', () => {
  const table = new IdTable<string>();
  const map = new Map<number, string>();
  const remove = (id: number) => {
    table.delete(id);
    map.delete(id);
  };
  let last = 0;
  for (let step = 0; step < 200_000; step += 1) {
    last = (last % LARGEST) + 1;
    if (!map.has(last)) {
      table.set(last, `${step}`);
      map.set(last, `${step}`);
    }
    // Ten on their way; each 1,000th has no answer for 50,000 more.
    const answered = last - 10;
    if (answered > 0 && answered % 1_000 !== 0) remove(answered);
    if (step % 1_000 === 0) {
      remove(((step + 15_000) % LARGEST) + 1);
      remove(Math.floor(last / 1_000) * 1_000 - 50_000);
      expect(table.size).toBe(map.size);
      expect(new Map(table.entries().map(({ id, value }) => [id, value]))).toEqual(map);
    }
  }
  for (const id of [...map.keys()]) remove(id);
  expect(table.size).toBe(0);
  expect(table.entries()).toEqual([]);
});

test('all identifiers may be in use, and each is unique', () => {
  const table = new IdTable<number>();
  for (let id = 1; id <= LARGEST; id += 1) table.set(id, id);
  for (let id = 1; id <= LARGEST; id += 1) if (table.get(id) !== id) throw new Error(`${id} is ${table.get(id)}`);
  expect(table.size).toBe(LARGEST);
  table.set(7, 8);
  expect(table.size).toBe(LARGEST);
  expect(table.get(7)).toBe(8);
  table.delete(7);
  table.delete(7);
  expect(table.has(7)).toBe(false);
  expect(table.get(7)).toBeUndefined();
  expect(table.size).toBe(LARGEST - 1);
  table.clear();
  expect(table.size).toBe(0);
  expect(table.has(8)).toBe(false);
});

import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ANYTHING, LocalChanges } from '../../../src/platform/storage/changes/changes.ts';
import { RowCache } from '../../../src/platform/storage/changes/row-cache.ts';

interface Row {
  readonly id: string;
  readonly text: string;
}

test('a row that cannot be read is logged once until it changes', async () => {
  const rows = new Map<string, Row>([['a', { id: 'a', text: '{}' }]]);
  const logged: string[] = [];
  const changes = new LocalChanges();
  const cache = new RowCache<Row, { readonly id: string; readonly value: unknown }>({
    changes,
    log: pino({}, { write: (line: string) => void logged.push(JSON.parse(line).id) }),
    kinds: ['row'],
    rowsOf: async (id) => [...rows.values()].filter((row) => id === ANYTHING || row.id === id),
    toEntry: ({ id, text }) => ({ id, value: JSON.parse(text) as unknown }),
  });
  onTestFinished(() => cache.close());
  const read = async (id: string) => {
    await changes.announce('row', id);
    await cache.settled();
  };
  const write = async (text: string) => {
    rows.set('b', { id: 'b', text });
    await read('b');
  };
  rows.set('b', { id: 'b', text: 'no JSON' });
  await cache.load();
  for (const id of [ANYTHING, 'b', 'a', ANYTHING, ANYTHING]) await read(id);
  expect([logged, cache.unreadable, cache.all().map(({ id }) => id)]).toEqual([['b'], ['b'], ['a']]);
  await write('other');
  await read(ANYTHING);
  expect(logged).toEqual(['b', 'b']);
  await write('1');
  expect([cache.unreadable, cache.get('b')?.value]).toEqual([[], 1]);
  await write('other');
  expect([logged.length, cache.unreadable]).toEqual([3, ['b']]);
  rows.delete('b');
  await read(ANYTHING);
  expect(cache.unreadable).toEqual([]);
});

import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ANYTHING, LocalChanges } from '../../../src/platform/storage/changes/changes.ts';
import { RowCache } from '../../../src/platform/storage/changes/row-cache.ts';
import { silentLog } from '../../support/database.ts';

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

test('rows that take long are loaded in slices, and a row that is written meanwhile stays', async () => {
  const cache = new RowCache<Row, Row>({
    changes: new LocalChanges(),
    log: silentLog,
    kinds: ['row'],
    rowsOf: async () => Array.from({ length: 10 }, (_, number) => ({ id: `${number}`, text: 'loaded' })),
    toEntry: (row) => {
      for (const end = performance.now() + 4; performance.now() < end; );
      return row;
    },
  });
  onTestFinished(() => cache.close());
  let before: readonly (Row | null)[] = [];
  const stop = cache.onChange(() => {
    stop();
    setImmediate(() => {
      before = [cache.get('0'), cache.get('9')];
      cache.put({ id: '9', text: 'written' });
    });
  });
  await cache.load();
  expect(before).toEqual([{ id: '0', text: 'loaded' }, null]);
  expect([cache.all().length, cache.get('9')?.text]).toEqual([10, 'written']);
});

import { closeSync, mkdirSync, openSync, readdirSync, rmdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ALWAYS, append, MEGABYTE, message, openTestStore, readAll, texts } from './store.ts';

/** Bytes of all files below. */
function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

const many = (count: number, bytes = 0) => Array.from({ length: count }, (_, index) => message(String(index), bytes));

test('beyond its bound on disk use messages are refused with the reason, and stored again by itself when there is room', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder, { maxBytes: 6 * MEGABYTE });
  const [log, other] = [store.log('a'), store.log('b')];
  await append(other, [message('other')]);
  let answers: (string | null)[] = [];
  let stored = 0;
  while (!answers.some((problem) => problem !== null)) {
    answers = await append(log, many(200, 1_000));
    stored += answers.filter((problem) => problem === null).length;
  }

  expect(answers.at(-1)).toContain('6 MB');
  expect(log.storage()).toMatchObject({ state: 'FULL', messages: stored, problem: expect.stringContaining('6 MB') });
  expect(other.storage().state).toBe('FULL');
  expect(await append(other, [message('refused')])).toEqual([expect.stringContaining('6 MB')]);
  expect(store.bytes).toBeLessThan(6.6 * MEGABYTE);
  // Its log comes on top.
  expect(bytesIn(folder)).toBeLessThan(6.6 * MEGABYTE + 4.5 * MEGABYTE);
  expect(readAll(log)).toHaveLength(stored);

  const { oldest, newest } = log.storage();
  expect(await log.clear({ from: null, to: ((oldest ?? 0) + (newest ?? 0)) / 2 })).toBeGreaterThan(0);

  expect(log.storage()).toMatchObject({ state: 'STORING', problem: null });
  expect(await append(other, [message('again')])).toEqual([null]);
  expect(texts(readAll(other))).toEqual(['other', 'again']);
});

test('what expires makes room as well', async () => {
  let time = 1_700_000_000_000;
  const store = openTestStore(temporaryFolder(), { maxBytes: 2 * MEGABYTE, now: () => time });
  const log = store.log('a');
  log.setTtl(3_600);
  await append(log, many(4_000, 1_000));
  expect(log.storage().state).toBe('FULL');
  time += 3_700_000;

  await store.expire();

  expect(log.storage()).toMatchObject({ state: 'STORING', messages: 0 });
  expect(store.bytes).toBe(0);
  expect(await append(log, [message('again')])).toEqual([null]);
});

test('clear gives the space back and leaves what is appended meanwhile', async () => {
  const folder = temporaryFolder();
  let time = 1_700_000_000_000;
  const store = openTestStore(folder, { now: () => time });
  const log = store.log('a');
  for (let batch = 0; batch < 5; batch += 1) {
    await append(log, many(1_000, 1_000));
    time += 10_000;
  }
  const before = bytesIn(folder);

  const cleared = log.clear({ from: 1_700_000_005_000, to: 1_700_000_035_000 });
  const meanwhile = append(log, [message('meanwhile')]);

  expect(await cleared).toBe(3_000);
  expect(await meanwhile).toEqual([null]);
  expect(log.count(ALWAYS)).toBe(2_001);
  expect(bytesIn(folder)).toBeLessThan(before * 0.6);

  const unwritten = append(log, [message('before')]);
  const all = log.clear(ALWAYS);
  const later = append(log, [message('after')]);
  expect(await all).toBe(2_002);
  expect([...(await unwritten), ...(await later)]).toEqual([null, null]);
  expect(texts(readAll(log))).toEqual(['after']);
  await store.close();
  expect(texts(readAll(openTestStore(folder).log('a')))).toEqual(['after']);
});

test('a removed log accepts no messages, and can be created again', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder);
  const log = store.log('a/../b');
  await append(log, many(100));
  const waiting = append(log, [message('1')]);

  const removed = log.remove();

  expect(await waiting).toEqual([expect.any(String)]);
  expect(await append(log, [message('2')])).toEqual([expect.any(String)]);
  await append(store.log('a/../b'), [message('3')]);
  await removed;
  expect(texts(readAll(store.log('a/../b')))).toEqual(['3']);
  expect(store.ids()).toEqual(['a/../b']);
});

test('a damaged file is set aside and reported, and what follows is stored in another', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder);
  for (const id of ['a', 'b']) await append(store.log(id), many(1_000, 1_000));
  await store.close();
  const file = openSync(join(folder, 'messages.sqlite'), 'r+');
  writeSync(file, 'garbage '.repeat(100_000), 20_000);
  closeSync(file);

  const again = openTestStore(folder);
  const log = again.log('a');
  readAll(log);
  expect(await append(log, [message('new')])).toEqual([null]);

  expect(texts(readAll(log))).toEqual(['new']);
  expect([log.count(ALWAYS), again.log('b').storage().messages]).toEqual([1, 0]);
  expect(again.problems).toEqual([expect.stringContaining('messages.sqlite is damaged and was set aside')]);
  expect(readdirSync(folder)).toContain('messages.sqlite.damaged');
});

test('a disk failure is reported and retried', async () => {
  const folder = temporaryFolder();
  let time = 1_700_000_000_000;
  const store = openTestStore(folder, { now: () => time });
  const log = store.log('a');
  // Where SQLite would write.
  const obstacle = join(folder, 'messages.sqlite-wal');
  mkdirSync(obstacle, { recursive: true });

  expect(await append(log, [message('1')])).toEqual([expect.stringContaining('disk failed')]);
  expect(log.storage()).toMatchObject({
    state: 'FAILED',
    messages: 0,
    problem: expect.stringContaining('disk failed'),
  });
  expect(store.problems).toHaveLength(1);
  rmdirSync(obstacle);
  expect(await append(log, [message('too soon')])).toEqual([expect.stringContaining('disk failed')]);
  time += 5_000;

  expect(await append(log, [message('2')])).toEqual([null]);
  expect(log.storage()).toMatchObject({ state: 'STORING', messages: 1, problem: null });
  expect(texts(readAll(log))).toEqual(['2']);
});

test('what is appended is on disk when close resolves', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder);
  const answers = append(store.log('a'), many(5_000));

  await store.close();

  expect((await answers).every((problem) => problem === null)).toBe(true);
  expect(openTestStore(folder).log('a').count(ALWAYS)).toBe(5_000);
});

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StoredMessage } from '../../../../src/data-plane/streams/store/message-store.ts';
import { limitsOfProcess, segmentsToOpen } from '../../../../src/data-plane/streams/store/open-files.ts';
import {
  ALWAYS,
  append,
  MEGABYTE,
  message,
  openTestStore,
  readAll,
  segmentFiles,
  temporaryFolder,
  texts,
} from './store.ts';

/** Bytes of all files below, but for the one with the ttl. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'ttl')
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

const ids = (messages: readonly StoredMessage[]) => messages.map(({ id }) => id);

const many = (count: number, bytes = 0) => Array.from({ length: count }, (_, index) => message(String(index), bytes));

test('beyond its bound on disk use messages are answered why not, and stored again by itself when there is room', async () => {
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
  expect(store.bytes).toBe(bytesIn(folder));
  // The WALs of the two files that are written to.
  expect(store.bytes).toBeLessThan(6 * MEGABYTE + 4.5 * MEGABYTE);
  expect(readAll(log)).toHaveLength(stored);

  const { oldest, newest } = log.storage();
  expect(await log.clear({ from: null, to: ((oldest ?? 0) + (newest ?? 0)) / 2 })).toBeGreaterThan(0);

  expect(log.storage()).toMatchObject({ state: 'STORING', problem: null });
  expect(await append(other, [message('again')])).toEqual([null]);
  expect(texts(readAll(other))).toEqual(['other', 'again']);
  expect(store.bytes).toBe(bytesIn(folder));
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
  const store = openTestStore(folder, { now: () => time, segmentBytes: MEGABYTE });
  const log = store.log('a');
  for (let batch = 0; batch < 5; batch += 1) {
    await append(log, many(1_000, 1_000));
    time += 10_000;
  }
  const before = store.bytes;

  const cleared = log.clear({ from: 1_700_000_005_000, to: 1_700_000_035_000 });
  const meanwhile = append(log, [message('meanwhile')]);

  expect(await cleared).toBe(3_000);
  expect(await meanwhile).toEqual([null]);
  expect(log.count(ALWAYS)).toBe(2_001);
  expect(store.bytes).toBeLessThan(before * 0.5);
  expect(store.bytes).toBe(bytesIn(folder));

  const unwritten = append(log, [message('before')]);
  const all = log.clear(ALWAYS);
  const later = append(log, [message('after')]);
  expect(await all).toBe(2_002);
  expect([...(await unwritten), ...(await later)]).toEqual([null, null]);
  expect(texts(readAll(log))).toEqual(['after']);
  await store.close();
  expect(texts(readAll(openTestStore(folder).log('a')))).toEqual(['after']);
});

test('a removed stream leaves no files, accepts no messages, and can be created again', async () => {
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
  expect(store.bytes).toBe(bytesIn(folder));
  expect(readdirSync(folder)).toHaveLength(1);
});

test('a damaged segment costs its own messages only', async () => {
  const folder = temporaryFolder();
  const options = { segmentBytes: 100_000 };
  const store = openTestStore(folder, options);
  for (let batch = 0; batch < 5; batch += 1) await append(store.log('a'), many(200, 1_000));
  const all = readAll(store.log('a'));
  await store.close();
  const files = segmentFiles(folder, 'a');
  expect(files).toHaveLength(5);
  const damage = (index: number, position: number, text: string) => {
    const file = openSync(join(folder, 'a', files[index] ?? ''), 'r+');
    writeSync(file, text, position);
    closeSync(file);
  };
  // In its midst, in its header, and in that of the newest one.
  damage(1, 50_000, 'garbage '.repeat(10_000));
  damage(3, 0, 'garbage '.repeat(100));
  damage(4, 0, 'garbage '.repeat(100));

  const again = openTestStore(folder, options);
  const log = again.log('a');
  expect(await append(log, [message('new')])).toEqual([null]);
  const rest = readAll(log);

  expect(ids(rest.slice(0, -1))).toEqual(ids([...all.slice(0, 200), ...all.slice(400, 600)]));
  expect(texts(rest).at(-1)).toBe('new');
  expect(log.count(ALWAYS)).toBe(401);
  expect(again.problems).toHaveLength(3);
  expect(again.problems.join()).toContain(files[1]);
  const asideOf = () => readdirSync(join(folder, 'a')).filter((name) => name.endsWith('.damaged'));
  expect(
    asideOf()
      .map((name) => name.replace('.damaged', ''))
      .toSorted(),
  ).toEqual([files[1], files[3], files[4]]);
  expect(again.bytes).toBe(bytesIn(folder));

  await log.clear(ALWAYS);

  expect(asideOf()).toEqual([]);
  expect(again.bytes).toBe(bytesIn(folder));
});

test('a disk failure is reported and retried', async () => {
  const folder = temporaryFolder();
  let time = 1_700_000_000_000;
  const store = openTestStore(folder, { now: () => time });
  const log = store.log('a');
  // Where SQLite would write.
  const obstacle = join(folder, 'a', `${time * 1_000}.sqlite-wal`);
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

test.each([
  ['1024', 128],
  ['8192', 512],
  ['20000', 1_024],
  ['1048576', 1_024],
  ['unlimited', 1_024],
])('a process that may open %s files has at most %i segments open', (files, segments) => {
  const limits = `Max processes             31802                31802                processes\nMax open files            ${files.padEnd(20)} 1048576              files\n`;
  expect(segmentsToOpen(limits)).toBe(segments);
});

test('where the limit of open files is not known few segments are open', () => {
  expect(segmentsToOpen(null)).toBe(128);
  expect(segmentsToOpen(limitsOfProcess())).toBeGreaterThanOrEqual(128);
});

test('many streams take a few files at a time', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder, { maxOpenFiles: 4 });
  const names = Array.from({ length: 50 }, (_, index) => `stream-${index}`);
  for (const round of ['1', '2']) {
    const answers = await Promise.all(names.map((id) => append(store.log(id), [message(round)])));
    expect(answers.flat().every((problem) => problem === null)).toBe(true);
    expect(store.openFiles).toBe(4);
  }

  for (const id of names) expect(texts(readAll(store.log(id)))).toEqual(['1', '2']);
  expect(store.openFiles).toBe(4);
  if (existsSync('/proc/self/fd')) {
    const handles = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return '';
      }
    });
    expect(handles.filter((path) => path.startsWith(folder)).length).toBeLessThanOrEqual(8);
  }
});

test('what a start that was cut short left behind is no harm', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder);
  await append(store.log('a'), [message('1')]);
  await store.close();
  const base = Number(segmentFiles(folder, 'a')[0]?.replace('.sqlite', ''));
  writeFileSync(join(folder, 'a', `${base + 5}.sqlite.new`), 'half a fi');
  writeFileSync(join(folder, 'a', `${base + 7}.sqlite`), '');
  writeFileSync(join(folder, 'a', `${base + 9}.sqlite-wal`), 'of a file that was being dropped');
  mkdirSync(join(folder, 'b'));
  mkdirSync(join(folder, 'c-1.removed'));
  writeFileSync(join(folder, 'c-1.removed', '1.sqlite'), 'x');
  writeFileSync(join(folder, 'other'), 'x');

  const again = openTestStore(folder);
  await append(again.log('a'), [message('2')]);

  expect(texts(readAll(again.log('a')))).toEqual(['1', '2']);
  expect(again.ids()).toEqual(['a']);
  await again.close();
  expect(readdirSync(join(folder, 'a')).filter((name) => /new$|wal$/.test(name))).toEqual([]);
  expect(readdirSync(folder).toSorted()).toEqual(['a', 'other']);
});

test('what is appended is on disk when close resolves', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder);
  const answers = append(store.log('a'), many(5_000));

  await store.close();

  expect((await answers).every((problem) => problem === null)).toBe(true);
  expect(await append(store.log('a'), [message('late')])).toEqual([expect.any(String)]);
  expect(openTestStore(folder).log('a').count(ALWAYS)).toBe(5_000);
});

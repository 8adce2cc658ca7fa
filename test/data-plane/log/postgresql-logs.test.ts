import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { NewMessage, StoredMessage } from '../../../src/data-plane/log/log-message.ts';
import type { MessageLog } from '../../../src/data-plane/log/message-log.ts';
import { importFiles } from '../../../src/data-plane/log/postgresql/file-import.ts';
import { LogDatabase } from '../../../src/data-plane/log/postgresql/postgresql-logs.ts';
import { emptyDatabase, openTestStorage } from '../../support/database.ts';
import { loseStandby } from '../../support/lost-standby.ts';
import { createDatabase, startCluster, UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { openPostgresClient } from '../../support/postgres-client.ts';
import { startRelay } from '../../support/relay.ts';
import { onTestFinished, shared } from '../../support/shared.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ALWAYS, MEGABYTE, message, openTestStore, readAll as readFiles, texts } from './store.ts';

const postgres = usePostgres();
const HOUR = 3_600_000;

/** A server that tests may kill. It runs again when they end. */
const ownServer = shared(async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  return cluster;
});

/** A database with a broker's store, as a process opens it. */
async function world(databaseUrl?: string) {
  const url = databaseUrl ?? (await emptyDatabase(postgres));
  await openTestStorage({ databaseUrl: url });
  const problems: (string | null)[] = [];
  const open = async ({ brokerId = 'brk_1', maxBytes = 1_024 * MEGABYTE, through = url } = {}) => {
    const database = new LogDatabase({
      databaseUrl: through,
      onProblem: (problem) => problems.push(problem),
      onLost: () => undefined,
    });
    const store = await database.open({ brokerId, maxBytes, onProblem: (_name, reason) => problems.push(reason) });
    let closing: Promise<void> | null = null;
    const close = () => {
      closing ??= store.close().then(() => database.close());
      return closing;
    };
    onTestFinished(close);
    return { store, close };
  };
  const client = await openPostgresClient(url);
  const rows = async (sql: string) => (await client.query(sql)).rows;
  return { url, open, rows, problems };
}

const append = (log: MessageLog, messages: readonly NewMessage[]) =>
  Promise.all(messages.map((one) => new Promise<string | null>((done) => log.append(one, done))));

/** A database whose connections `relay.cut` ends. */
async function relayTo(url: string, isSilent = (_first: Buffer) => false) {
  const relay = await startRelay(Number(new URL(url).port), { isSilent });
  return { relay, through: Object.assign(new URL(url), { port: new URL(relay.url).port }).href };
}

async function readAll(log: MessageLog, reverse = false, limit = 1_000): Promise<StoredMessage[]> {
  const all: StoredMessage[] = [];
  for (;;) {
    const page = await log.read({ ...ALWAYS, after: all.at(-1)?.id ?? null, reverse, limit, maxBytes: MEGABYTE });
    if (page.length === 0) return all;
    all.push(...page);
  }
}

const some = (count: number, prefix = '') => Array.from({ length: count }, (_, index) => message(`${prefix}${index}`));

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('what is stored is read in order, in pages, from both ends, by another process, too', async () => {
    const { open } = await world();
    const one = await open();
    const log = one.store.log('a');
    const binary = Buffer.from([0, 255, 92, 120, 10]);
    expect(await append(log, some(1_200))).toEqual(Array(1_200).fill(null));
    expect(await append(log, [{ topic: 'ü/€', payload: binary, qos: 2 }])).toEqual([null]);
    const expected = Array.from({ length: 1_200 }, (_, index) => String(index));

    await one.close();
    const again = (await open()).store;
    expect(again.ids()).toEqual(['a']);
    for (const stored of [await readAll(again.log('a')), (await readAll(again.log('a'), true, 7)).reverse()]) {
      expect(texts(stored.slice(0, -1))).toEqual(expected);
      expect(stored.at(-1)).toMatchObject({ topic: 'ü/€', payload: binary, qos: 2 });
      const ids = stored.map(({ id }) => id);
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    }
    expect(again.log('a').storage()).toMatchObject({ state: 'STORING', messages: 1_201, problem: null });
    expect(await again.log('a').count(ALWAYS)).toBe(1_201);
  });

  test('a page is bounded in bytes before it is read, and a message of any size is readable', async () => {
    const { open } = await world();
    const log = (await open()).store.log('a');
    const big = 'x'.repeat(3 * MEGABYTE);
    await append(log, [message('0'), { topic: 't', payload: big, qos: 0 }, message('2'), message('3')]);
    const read = (after: number | null) =>
      log.read({ ...ALWAYS, after, reverse: false, limit: 100, maxBytes: MEGABYTE });
    const sizes: number[][] = [];
    for (let page = await read(null); page.length > 0; page = await read(page.at(-1)?.id ?? null)) {
      sizes.push(page.map(({ payload }) => payload.length));
    }
    expect(sizes).toEqual([[1], [big.length], [1, 1]]);
  });

  test('messages of several segments are read once and in order, in pages of any size, and counted and cleared in parts', async () => {
    const { open } = await world();
    const log = (await open()).store.log('a');
    const expected: string[] = [];
    for (const [round, ttl] of [3_600, 86_400, 7_200, 3_600, 0, 60].entries()) {
      log.setTtl(ttl);
      await append(log, some(10, `${round}-`));
      expected.push(...some(10, `${round}-`).map((one) => String(one.payload)));
      // Ends the segment, and deletes nothing.
      await log.clear({ from: 1, to: 2 });
    }
    for (const limit of [1, 7, 10, 1_000]) {
      expect(texts(await readAll(log, false, limit))).toEqual(expected);
      expect(texts(await readAll(log, true, limit))).toEqual(expected.toReversed());
    }
    const small = await log.read({ ...ALWAYS, after: null, reverse: false, limit: 1_000, maxBytes: 35 });
    expect(texts(small)).toEqual(expected.slice(0, small.length));
    const ids = (await readAll(log)).map(({ id }) => id);
    const bounds = { from: Math.ceil((ids[5] ?? 0) / 1_000), to: Math.floor((ids[44] ?? 0) / 1_000) };
    const within = ids.filter((id) => id >= bounds.from * 1_000 && id <= bounds.to * 1_000 + 999).length;
    expect(await log.count(bounds)).toBe(within);
    expect(await log.clear(bounds)).toBe(within);
    expect([await log.count(ALWAYS), log.storage().messages]).toEqual([60 - within, 60 - within]);
  });

  test('many streams share a commit, and each has its own messages', async () => {
    const { open, rows } = await world();
    const { store } = await open();
    const logs = Array.from({ length: 50 }, (_, index) => store.log(`stream-${index}`));
    await append(logs[0] as MessageLog, [message('first')]);
    await Promise.all(logs.map((log) => append(log, some(20))));
    // Each row has the number of the transaction that stored it.
    const [{ commits }] = await rows('SELECT count(DISTINCT xmin::text)::integer AS commits FROM messages.log_message');
    expect(commits).toBeLessThan(30);
    for (const log of logs.slice(1))
      expect(texts(await readAll(log))).toEqual(some(20).map((one) => String(one.payload)));
  });

  test('a process that was taken over stores, deletes and acknowledges nothing any more, and says so', async () => {
    const { open, rows } = await world();
    const { store } = await open();
    const log = store.log('a');
    await append(log, some(3));
    const { store: next } = await open();
    let isDone = false;
    void append(log, some(2, 'late-')).then(() => {
      isDone = true;
    });
    await expect
      .poll(() => log.storage())
      .toMatchObject({ state: 'FAILED', problem: expect.stringMatching(/another process/i) });
    await expect(log.clear(ALWAYS)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
    expect(await append(next.log('a'), some(1, 'new-'))).toEqual([null]);
    expect(texts(await readAll(next.log('a')))).toEqual(['0', '1', '2', 'new-0']);
    expect([isDone, await rows('SELECT messages FROM messages.log_part')]).toEqual([false, [{ messages: '4' }]]);
    // Of another broker in the same statement.
    const { store: other } = await open({ brokerId: 'brk_2' });
    expect(await append(other.log('b'), some(1))).toEqual([null]);
  });

  test('a shorter ttl holds at once, a longer one keeps what is stored', async () => {
    const { open } = await world();
    const { store, close } = await open();
    const log = store.log('a');
    log.setTtl(3_600);
    await append(log, some(3));
    log.setTtl(86_400);
    await append(log, some(2, 'later-'));
    expect(texts(await readAll(log))).toEqual(['0', '1', '2', 'later-0', 'later-1']);
    await close();
    const again = (await open()).store.log('a');
    again.setTtl(1);
    await expect.poll(() => readAll(again)).toEqual([]);
  });

  test('clearing deletes what is within the bounds, and nothing that is stored afterwards', async () => {
    const { open } = await world();
    const { store, close } = await open();
    const log = store.log('a');
    await append(log, some(10));
    const ids = (await readAll(log)).map(({ id }) => id);
    const [third, sixth] = [ids[2] ?? 0, ids[5] ?? 0];
    const bounds = { from: Math.ceil(third / 1_000), to: Math.floor(sixth / 1_000) };
    const within = ids.filter((id) => id >= bounds.from * 1_000 && id <= bounds.to * 1_000 + 999).length;
    expect(await log.clear(bounds)).toBe(within);
    expect(await log.count(ALWAYS)).toBe(10 - within);
    const cleared = log.clear(ALWAYS);
    const stored = append(log, some(2, 'new-'));
    expect(await cleared).toBe(10 - within);
    expect(await stored).toEqual([null, null]);
    expect(texts(await readAll(log))).toEqual(['new-0', 'new-1']);
    expect(log.storage().messages).toBe(2);
    await close();
    expect((await open()).store.log('a').storage().messages).toBe(2);
  });

  test('parts that are cleared at the same time and overlap are cleared once, while others are read', async () => {
    const { open } = await world();
    const log = (await open()).store.log('a');
    await append(log, some(6_000));
    const ids = (await readAll(log)).map(({ id }) => id);
    const first = Math.ceil((ids[0] ?? 0) / 1_000);
    // However fast they were stored.
    const middle = Math.floor((ids[ids.length / 2] ?? 0) / 1_000);
    const parts = Array.from({ length: 40 }, (_, index) => ({ from: first + (index % 20), to: middle - (index % 7) }));
    const [read, ...cleared] = await Promise.all([readAll(log, true, 50), ...parts.map((part) => log.clear(part))]);

    const [from, to] = [first * 1_000, middle * 1_000 + 999];
    const within = ids.filter((id) => id >= from && id <= to).length;
    expect(within).toBeGreaterThan(1_000);
    expect(cleared.reduce((sum, count) => sum + count, 0)).toBe(within);
    const left = ids.filter((id) => id < from || id > to);
    expect((await readAll(log)).map(({ id }) => id)).toEqual(left);
    // What is not cleared is read, although rows before it disappear.
    expect(read.map(({ id }) => id)).toEqual(expect.arrayContaining(left));
    expect([await log.count(ALWAYS), log.storage().messages]).toEqual([left.length, left.length]);
  });

  test('a stream that is removed leaves nothing, and takes nothing more', async () => {
    const { open, rows } = await world();
    const { store } = await open();
    await append(store.log('a'), some(3));
    await append(store.log('b'), some(1));
    const removed = store.log('a');
    await removed.remove();
    expect(await append(removed, some(1))).toEqual(['Its stream was removed']);
    expect(await rows('SELECT name FROM messages.log')).toEqual([{ name: 'b' }]);
    expect(await rows('SELECT FROM messages.log_message')).toHaveLength(1);
    expect(await rows('SELECT FROM messages.log_part')).toHaveLength(1);
  });

  test('beyond the limit of the broker nothing is stored until some is cleared; other brokers store', async () => {
    const { open } = await world();
    const { store } = await open({ maxBytes: 100_000 });
    const other = (await open({ brokerId: 'brk_2', maxBytes: 100_000 })).store;
    const log = store.log('a');
    await append(log, [message('big', 120_000)]);
    expect((await append(log, [message('more')]))[0]).toMatch(/take up all of the 100000 bytes/);
    expect(log.storage()).toMatchObject({ state: 'FULL', messages: 1 });
    expect(await append(other.log('b'), [message('other')])).toEqual([null]);
    await log.clear(ALWAYS);
    expect(await append(log, [message('again')])).toEqual([null]);
  });

  test('a message that the database refuses is reported, and the others of its commit are stored', async () => {
    const { open, rows } = await world();
    await rows(`ALTER TABLE messages.log_message ADD CONSTRAINT "no-poison" CHECK (topic <> 'poison')`);
    const { store } = await open();
    const [one, two] = [store.log('a'), store.log('b')];
    const poison = { topic: 'poison', payload: 'x', qos: 1 } as const;
    const results = await Promise.all([append(one, [...some(5), poison, ...some(5, 'after-')]), append(two, some(3))]);
    expect(results.flat().filter((problem) => problem !== null)).toEqual([
      expect.stringContaining('refuses the message'),
    ]);
    expect(await readAll(one)).toHaveLength(10);
    expect(await readAll(two)).toHaveLength(3);
  });

  test('ids never fall behind those of another process, whose clock was ahead', async () => {
    const { open, rows } = await world();
    const ahead = Date.now() * 1_000 + HOUR * 1_000;
    const first = await open();
    await append(first.store.log('a'), some(2));
    await first.close();
    await rows(`UPDATE messages.log SET last = ${ahead}`);
    const { store } = await open();
    await append(store.log('a'), some(2, 'later-'));
    const ids = (await rows('SELECT id FROM messages.log_message ORDER BY 1')).map(({ id }) => Number(id));
    expect(ids.slice(2)).toEqual([ahead + 1, ahead + 2]);

    // Also of messages that were deleted.
    await store.log('a').clear(ALWAYS);
    const { store: next } = await open();
    await append(next.log('a'), some(1));
    expect((await readAll(next.log('a'))).map(({ id }) => id)).toEqual([ahead + 3]);
  });

  test('while the database is away messages wait, are reported as waiting, and are stored once when it is back', async () => {
    const cluster = await ownServer();
    const { open, problems } = await world(await createDatabase(cluster.url));
    const log = (await open()).store.log('a');
    await append(log, [message('before')]);
    await cluster.kill();
    const waiting = append(log, some(500));
    await expect.poll(() => log.storage()).toMatchObject({ state: 'FAILED', problem: expect.stringMatching(/wait/) });
    await cluster.startAgain();
    expect(await waiting).toEqual(Array(500).fill(null));
    expect(log.storage()).toMatchObject({ state: 'STORING', messages: 501, problem: null });
    expect(problems.at(-1)).toBeNull();
    expect(texts(await readAll(log))).toEqual(['before', ...some(500).map((one) => String(one.payload))]);
  });

  test('messages that waited for longer than the ttl are counted and read if the ttl is raised', async () => {
    const cluster = await ownServer();
    const { open } = await world(await createDatabase(cluster.url));
    const log = (await open()).store.log('a');
    log.setTtl(86_400);
    await append(log, [message('before')]);
    await cluster.kill();
    const waiting = append(log, some(50));
    await delay(1_100);
    log.setTtl(1);
    log.setTtl(86_400);
    await cluster.startAgain();
    expect(await waiting).toEqual(Array(50).fill(null));
    expect(log.storage()).toMatchObject({ messages: 51 });
    expect(texts(await readAll(log))).toEqual(['before', ...some(50).map((one) => String(one.payload))]);
  });

  test('messages of a stream whose row was deleted meanwhile are stored under another number', async () => {
    const { open, rows } = await world();
    const log = (await open()).store.log('a');
    await append(log, [message('before')]);
    await rows('DELETE FROM messages.log');
    expect(await append(log, some(10))).toEqual(Array(10).fill(null));
    expect(texts(await readAll(log))).toEqual(some(10).map((one) => String(one.payload)));
    expect(log.storage()).toMatchObject({ messages: 10 });
  });

  test('a removal that waits for messages to be written ends when the store is closed, and removes nothing later', async () => {
    const { url, open, rows } = await world();
    const { store, close } = await open();
    const log = store.log('a');
    await append(log, [message('before')]);
    const { rows: inTransaction } = await world(url);
    await inTransaction('BEGIN');
    await inTransaction('SELECT FROM messages.log_owner FOR UPDATE');
    void append(log, [message('waiting')]);
    const removed = expect(log.remove()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
    await store.close();
    await removed;
    await inTransaction('ROLLBACK');
    await close();
    expect(await rows('SELECT FROM messages.log')).toHaveLength(1);
  });

  test('a clear that waits for messages to be written ends when the store is closed', async () => {
    const cluster = await ownServer();
    const { open } = await world(await createDatabase(cluster.url));
    const { store } = await open();
    const log = store.log('a');
    await append(log, [message('before')]);
    await cluster.kill();
    onTestFinished(() => cluster.startAgain());
    void append(log, some(10));
    const cleared = expect(log.clear(ALWAYS)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
    await store.close();
    await cleared;
    await expect(log.clear(ALWAYS)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  });

  test('a connection that is lost while messages are cleared fails the clear, and the next one works', async () => {
    const { url, open, rows } = await world();
    const { relay, through } = await relayTo(url);
    const log = (await open({ through })).store.log('a');
    await append(log, some(10));
    const { rows: inTransaction } = await world(url);
    await inTransaction('BEGIN');
    await inTransaction('SELECT FROM messages.log_part FOR UPDATE');
    const cleared = expect(log.clear(ALWAYS)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    const locked = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%log_part%'`;
    await expect.poll(() => rows(locked)).toHaveLength(1);
    relay.cut();
    await cleared;
    await inTransaction('ROLLBACK');
    expect(await log.clear(ALWAYS)).toBe(10);
    expect(await readAll(log)).toEqual([]);
  });

  test('a commit whose response is lost is not repeated', async () => {
    const { url, open } = await world();
    const { relay, through } = await relayTo(url);
    const log = (await open({ through })).store.log('a');
    await append(log, [message('first')]);
    const pending: Promise<unknown>[] = [];
    for (let round = 0; round < 20; round += 1) {
      pending.push(append(log, some(20, `${round}-`)));
      await delay(Math.random() * 5);
      relay.cut();
    }
    await Promise.all(pending);
    const stored = texts(await readAll((await open()).store.log('a')));
    expect(stored).toHaveLength(401);
    expect(new Set(stored).size).toBe(401);
  });

  test('a connection that becomes silent as soon as it is open delays messages for seconds only', async () => {
    const { url, open, problems } = await world();
    let isNextSilent = false;
    const { through } = await relayTo(url, () => {
      const isSilent = isNextSilent;
      isNextSilent = false;
      return isSilent;
    });
    const log = (await open({ through })).store.log('a');
    isNextSilent = true;
    expect(await append(log, some(50))).toEqual(Array(50).fill(null));
    expect(problems[0]).toContain('Messages wait to be stored');
    expect(texts(await readAll(log))).toEqual(some(50).map((one) => String(one.payload)));
  });

  test('a commit that ends only after its time is not repeated, and attempts meanwhile leave no session behind', async () => {
    const cluster = await ownServer();
    const { open, rows } = await world(await createDatabase(cluster.url));
    const log = (await open()).store.log('a');
    await append(log, [message('first')]);
    const endCommits = await loseStandby(cluster.url);
    const waiting = append(log, some(50));
    const attempts = async () => {
      const behind = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%log_owner%'`;
      return (await rows(behind)).map(({ pid }) => pid);
    };
    await expect.poll(attempts).toHaveLength(1);
    const [second] = await attempts();
    expect(log.storage().state).toBe('FAILED');
    const others = async () => (await attempts()).filter((pid) => pid !== second);
    await expect.poll(others).toHaveLength(1);
    expect(await attempts()).not.toContain(second);
    await endCommits();
    expect(await waiting).toEqual(Array(50).fill(null));
    expect(texts(await readAll(log))).toEqual(['first', ...some(50).map((one) => String(one.payload))]);
  });

  test('messages in files that were stored in turn with those in the database are read between them', async () => {
    const { url, open } = await world();
    const folder = temporaryFolder();
    const files = openTestStore(join(folder, 'brk_1'));
    const inFiles = files.log('a');
    inFiles.setTtl(3_600);
    const log = (await open()).store.log('a');
    log.setTtl(3_600);
    for (let round = 0; round < 10; round += 1) {
      await append(inFiles, some(3, `file-${round}-`));
      await append(log, some(3, `table-${round}-`));
    }
    const all = [...readFiles(inFiles), ...(await readAll(log))];
    const expected = texts(all.toSorted((one, other) => one.id - other.id));
    await files.close();
    // Also if connections break meanwhile.
    const { relay, through } = await relayTo(url);
    const moved = importFiles({ folder, databaseUrl: through, ttlOf: () => 3_600, onProblem: () => undefined });
    for (let round = 0; round < 20; round += 1) {
      await delay(Math.random() * 5);
      relay.cut();
    }
    expect(await moved).toBe(30);

    const { store } = await open();
    for (const limit of [1, 2, 7, 1_000]) {
      expect(texts(await readAll(store.log('a'), false, limit))).toEqual(expected);
      expect(texts(await readAll(store.log('a'), true, limit))).toEqual(expected.toReversed());
    }
    await append(store.log('a'), [message('last')]);
    expect(texts(await readAll(store.log('a'))).at(-1)).toBe('last');
  });
});

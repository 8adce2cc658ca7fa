import { readdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BridgeQueue } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import { postgresqlQueues } from '../../../../src/data-plane/bridges/queue/postgresql/postgresql-queues.ts';
import { QueueDatabase } from '../../../../src/data-plane/bridges/queue/postgresql/queue-database.ts';
import { QueueTaken } from '../../../../src/data-plane/bridges/queue/postgresql/queue-turn.ts';
import type { QueueEntry } from '../../../../src/data-plane/bridges/queue/queue-entry.ts';
import type { BrokerStorage } from '../../../../src/data-plane/bridges/queue/queue-storage.ts';
import { emptyDatabase, openTestStorage } from '../../../support/database.ts';
import { startCluster, UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { startRelay } from '../../../support/relay.ts';
import { isLong, runs } from '../../../support/suite.ts';
import { LARGE, message, openQueue, queueFolder, turns } from './queue-world.ts';

const postgres = usePostgres();

interface OpenOptions {
  readonly name?: string;
  readonly folder?: string;
  readonly storage?: BrokerStorage;
}

/** A database with a broker, and processes that open its queues. */
async function world(databaseUrl?: string) {
  const url = databaseUrl ?? (await emptyDatabase(postgres));
  await openTestStorage({ databaseUrl: url });
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  const rows = async (sql: string) => (await client.query(sql)).rows;
  await rows(`INSERT INTO "Project" (id, name, "updatedAt") VALUES ('prj_1', 'p', now());
    INSERT INTO "Broker" (id, "projectId", type, name, "updatedAt") VALUES ('brk_1', 'prj_1', 'SELF_HOSTED', 'b', now())`);
  const storesOf = (through = url) => {
    const database = new QueueDatabase(through);
    onTestFinished(() => database.close());
    const store = (folder: string, storage?: BrokerStorage) =>
      postgresqlQueues({ database, brokerId: 'brk_1', bridgeId: 'mqtt-bridge', storage, formerFolder: folder });
    const open = async ({ name = 'test', folder = '/nowhere', storage }: OpenOptions = {}) => {
      const problems: (string | null)[] = [];
      const disk = await store(folder, storage).open(name);
      const queue = new BridgeQueue({ disk, bounds: LARGE, onProblem: (reason) => problems.push(reason) });
      onTestFinished(() => queue.close({ discard: true }));
      return { queue, problems };
    };
    return { open, store };
  };
  const stored = async () => Number((await rows('SELECT count(*) AS n FROM messages.bridge_message'))[0].n);
  return { url, rows, stored, ...storesOf(), otherProcess: storesOf };
}

const texts = (entries: readonly QueueEntry[]) => entries.map((entry) => entry.message.payload.toString());
const numbers = (count: number, prefix = '') => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

function push(queue: BridgeQueue, all: readonly string[]): string[] {
  const taken: string[] = [];
  for (const text of all) queue.push(message(text), () => taken.push(text));
  return taken;
}

/** Pushes while delivery is stopped, until all are acknowledged. */
async function store(queue: BridgeQueue, all: readonly string[]): Promise<void> {
  queue.setDelivering(false);
  const taken = push(queue, all);
  await expect.poll(() => taken.length, { interval: 5 }).toBe(all.length);
}

/** Takes some messages, when they are read. */
function take(queue: BridgeQueue, count: number): Promise<readonly QueueEntry[]> {
  return new Promise((resolve) => {
    const look = () => {
      const some = queue.take(count, LARGE.maxBytes);
      if (some.length === 0) return;
      stop();
      resolve(some);
    };
    const stop = queue.onReady(look);
    look();
  });
}

/** Takes and settles all there is. */
async function drain(queue: BridgeQueue): Promise<string[]> {
  const found: string[] = [];
  while (queue.length > 0) {
    const some = await take(queue, 700);
    found.push(...texts(some));
    for (const entry of some) queue.settle(entry);
  }
  return found;
}

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('a message that is delivered immediately is acknowledged then, and never stored', async () => {
    const { open, stored } = await world();
    const { queue } = await open();
    const taken = push(queue, ['a', 'b']);
    for (const entry of queue.take(10, 1_000)) queue.settle(entry);
    expect(taken).toEqual(['a', 'b']);
    await queue.close({ discard: false });
    expect(await stored()).toBe(0);
  });

  test('the next owner delivers what is stored, with all that belongs to it, in order; what was delivered is deleted', async () => {
    const { open, otherProcess, stored } = await world();
    const { queue } = await open();
    const rich = message('rich', {
      qos: 2,
      retain: true,
      topic: 'ä/\0/b',
      receivedAt: 1_700_000_000_000,
      payload: Buffer.from([0, 255, 92, 120, 10]),
      properties: { contentType: 'text/plain', correlationData: Buffer.from([0, 255]), userProperties: [['a', '1']] },
    });
    queue.setDelivering(false);
    await new Promise<void>((resolve) => queue.push(rich, resolve));
    await store(queue, numbers(2_000));
    for (const entry of await take(queue, 1)) {
      expect(entry.message).toEqual(rich);
      queue.settle(entry);
    }
    const [first, second, third] = await take(queue, 3);
    for (const entry of [first, third]) queue.settle(entry as QueueEntry);
    expect(second?.message.payload.toString()).toBe('1');
    await queue.close({ discard: false });

    const next = (await otherProcess().open()).queue;
    expect(next.length).toBe(1_998);
    expect(await drain(next)).toEqual(['1', ...numbers(2_000).slice(3)]);
    expect([next.length, next.bytes]).toEqual([0, 0]);
    await expect.poll(stored).toBe(0);
  });

  test('a page is bounded in bytes, and a message of any size is delivered', async () => {
    const { open } = await world();
    const { queue } = await open();
    const big = 'x'.repeat(5 * 1_048_576);
    await store(queue, ['0', big, '2', '3']);
    expect((await drain(queue)).map(({ length }) => length)).toEqual([1, big.length, 1, 1]);
  });

  test('queues of a process share commits, and each has its own messages', async () => {
    const { open, rows } = await world();
    const queues = await Promise.all(numbers(40).map((name) => open({ name })));
    const commits = async () =>
      Number((await rows('SELECT xact_commit AS n FROM pg_stat_database WHERE datname = current_database()'))[0].n);
    const before = await commits();
    await Promise.all(queues.map(({ queue }, index) => store(queue, numbers(20, `${index}-`))));
    // Statistics arrive late, so this can only find too many.
    expect((await commits()) - before).toBeLessThan(30);
    for (const [index, { queue }] of queues.entries()) expect(await drain(queue)).toEqual(numbers(20, `${index}-`));
  });

  test('an owner whose queue another process has taken over stores and acknowledges nothing more', async () => {
    const { open, otherProcess, rows } = await world();
    const { queue: former, problems } = await open();
    await store(former, ['a', 'b']);
    const next = (await otherProcess().open()).queue;
    const late = push(former, ['late']);
    await expect.poll(() => problems).toEqual([expect.stringContaining('taken over')]);
    await store(next, ['c']);
    expect(late).toEqual([]);
    expect(await drain(next)).toEqual(['a', 'b', 'c']);
    // Neither does it delete the queue.
    await next.close({ discard: false });
    const { queue: third } = await otherProcess().open();
    await former.close({ discard: true });
    await next.close({ discard: true });
    expect(await rows('SELECT FROM messages.bridge_queue')).toHaveLength(1);
    await store(third, ['d']);
    expect(await drain(third)).toEqual(['d']);
  });

  test('a statement of an earlier turn that arrives late changes nothing', async () => {
    const { url, stored } = await world();
    const database = new QueueDatabase(url);
    onTestFinished(() => database.close());
    const first = await database.open({ brokerId: 'brk_1', bridgeId: 'mqtt-bridge', key: 'a' }, 'me');
    const { signal } = new AbortController();
    const change = { added: [{ id: 1, bytes: 10, message: message('1') }], gone: [], signal };
    const turn = await database.nextTurn(first);
    await expect(database.change({ ...change, turn: first })).rejects.toThrow(QueueTaken);
    expect(await stored()).toBe(0);
    await database.change({ ...change, turn });
    await database.change({ ...change, turn });
    expect(await stored()).toBe(1);
    await expect(database.nextTurn({ ...turn, owner: 'another' })).rejects.toThrow(QueueTaken);
  });

  test('the queue of a deleted broker is deleted with its messages; its owner stores nothing more', async () => {
    const { open, rows, stored } = await world();
    const { queue, problems } = await open();
    await store(queue, ['a']);
    await rows(`DELETE FROM "Broker"`);
    expect(await stored()).toBe(0);
    const late = push(queue, ['late']);
    await expect.poll(() => problems).toEqual([expect.stringContaining('deleted')]);
    expect(late).toEqual([]);
    await expect(open()).rejects.toMatchObject({ code: '23503' });
  });

  test('queues of names that are not used any more are removed, in this bridge only', async () => {
    const { open, store: storeOf, rows } = await world();
    for (const name of ['kept', 'left']) {
      const { queue } = await open({ name });
      await store(queue, [name]);
      await queue.close({ discard: false });
    }
    await rows(
      `INSERT INTO messages.bridge_queue (broker, bridge, name, owner, turn) VALUES ('brk_1', 'other', 'x', '', 1)`,
    );
    await storeOf('/nowhere').removeOthers(['kept']);
    expect(await rows('SELECT bridge FROM messages.bridge_queue ORDER BY bridge')).toEqual([
      { bridge: 'mqtt-bridge' },
      { bridge: 'other' },
    ]);
    expect((await open({ name: 'left' })).queue.length).toBe(0);
    const { queue } = await open({ name: 'kept' });
    expect(await drain(queue)).toEqual(['kept']);
    await queue.close({ discard: true });
  });

  test('while the database is away messages wait without acknowledgement, are delivered from memory, and are stored when it is back', async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.stop());
    const { open, otherProcess } = await world(cluster.url);
    const { queue, problems } = await open();
    await store(queue, ['before']);
    await cluster.kill();
    const waiting = push(queue, numbers(1_000));
    await expect.poll(() => problems.at(-1)).toMatch(/wait/);
    expect(waiting).toEqual([]);
    const delivered = queue.take(11, LARGE.maxBytes);
    expect(texts(delivered)).toEqual(['before', ...numbers(10)]);
    for (const entry of delivered) queue.settle(entry);
    expect(waiting).toEqual(numbers(10));
    await cluster.startAgain();
    await expect.poll(() => waiting.length, { timeout: 30_000 }).toBe(1_000);
    expect(problems.at(-1)).toBeNull();
    await cluster.kill();
    const late = push(queue, ['late']);
    await queue.close({ discard: false });
    expect(late).toEqual([]);
    await cluster.startAgain();
    const next = (await otherProcess().open()).queue;
    expect(await drain(next)).toEqual(numbers(1_000).slice(10));
  });

  test('a commit whose response is lost is not repeated, and messages that were delivered meanwhile are deleted', async () => {
    const { url, otherProcess, stored } = await world();
    const relay = await startRelay(Number(new URL(url).port));
    const through = Object.assign(new URL(url), { port: new URL(relay.url).port }).href;
    const { queue } = await otherProcess(through).open();
    const all: string[] = [];
    const taken: string[] = [];
    const found: string[] = [];
    queue.setDelivering(false);
    for (let round = 0; round < 20; round += 1) {
      const some = numbers(50, `${round}-`);
      all.push(...some);
      for (const text of some) queue.push(message(text), () => taken.push(text));
      await delay(Math.random() * 5);
      relay.cut();
      const entries = queue.take(20, LARGE.maxBytes);
      found.push(...texts(entries));
      for (const entry of entries) queue.settle(entry);
    }
    await expect.poll(() => new Set(taken).size, { timeout: 30_000 }).toBe(all.length);
    expect([...found, ...(await drain(queue))]).toEqual(all);
    expect(taken).toHaveLength(all.length);
    await expect.poll(stored, { timeout: 30_000 }).toBe(0);
  });

  test('a message that is settled while its statement waits is stored as it was', async () => {
    const { open, rows } = await world();
    const [{ queue: one }, { queue: other }] = [await open({ name: 'one' }), await open({ name: 'other' })];
    for (const queue of [one, other]) queue.setDelivering(false);
    await rows('BEGIN; LOCK TABLE messages.bridge_message IN SHARE MODE');
    push(one, ['a']);
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await expect.poll(() => rows(waits)).toHaveLength(1);
    // Waits for the next statement.
    push(other, ['b', 'c']);
    await turns(2);
    const [, entry] = other.take(2, LARGE.maxBytes);
    other.settle(entry as QueueEntry);
    await rows('COMMIT');
    const content = `SELECT convert_from(topic || payload, 'UTF8') AS text FROM messages.bridge_message ORDER BY queue, id`;
    const stored = async () => (await rows(content)).map(({ text }) => text);
    await expect.poll(stored).toHaveLength(3);
    expect(await stored()).toEqual(['test/topica', 'test/topicb', 'test/topicc']);
  });

  test('a message that is settled while it is to be stored again is stored as it was', async () => {
    const { open, rows } = await world();
    const { queue } = await open({ name: 'one' });
    queue.setDelivering(false);
    const waits = async (table: string) => {
      await rows('SELECT pg_stat_clear_snapshot()');
      return rows(`SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${table}%'
        AND datname = current_database()`);
    };
    await rows('BEGIN; LOCK TABLE messages.bridge_message IN SHARE MODE');
    push(queue, ['a', 'b']);
    await expect.poll(() => waits('bridge_message')).toHaveLength(1);
    const [{ pid }] = (await waits('bridge_message')) as [{ pid: number }];
    await rows(`SELECT pg_terminate_backend(${pid}, 10000)`);
    await rows('LOCK TABLE messages.bridge_queue IN SHARE MODE');
    await expect.poll(() => waits('bridge_queue')).toHaveLength(1);
    const [, entry] = queue.take(2, LARGE.maxBytes);
    queue.settle(entry as QueueEntry);
    await rows('COMMIT');
    const content = `SELECT convert_from(topic || payload, 'UTF8') AS text FROM messages.bridge_message ORDER BY id`;
    await expect.poll(() => rows(content)).toEqual([{ text: 'test/topica' }, { text: 'test/topicb' }]);
  });

  test('the file of an earlier version is moved when the queue is opened, and deleted', async () => {
    const folder = queueFolder();
    const file = openQueue({ folder }).queue;
    file.setDelivering(false);
    push(file, numbers(2_500));
    await file.close({ discard: false });
    expect(readdirSync(folder)).toHaveLength(1);
    const { open, otherProcess } = await world();
    const { queue } = await open({ folder });
    expect(readdirSync(folder)).toEqual([]);
    expect(queue.length).toBe(2_500);
    await queue.close({ discard: false });
    expect(await drain((await otherProcess().open({ folder })).queue)).toEqual(numbers(2_500));
  });

  test('a file of an earlier version that is damaged is set aside and reported', async () => {
    const folder = queueFolder();
    const file = openQueue({ folder }).queue;
    file.setDelivering(false);
    push(file, ['a']);
    await file.close({ discard: false });
    const [path = ''] = readdirSync(folder);
    writeFileSync(`${folder}/${path}`, 'no database at all, and longer than a header of one has to be'.repeat(20));
    const { open } = await world();
    const { queue, problems } = await open({ folder });
    expect(problems).toEqual([expect.stringContaining('set aside')]);
    await store(queue, ['b']);
    expect(await drain(queue)).toEqual(['b']);
    expect(readdirSync(folder)).toEqual([expect.stringContaining('.damaged')]);
  });

  /** Runs the same steps on a queue and an array. An acknowledged message must never be lost. */
  const count = fc.integer({ min: 1, max: 1_500 });
  const picks = fc.array(fc.nat({ max: 2_000 }), { minLength: 1, maxLength: 400 });
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('push' as const), count }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const), count }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), picks }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('restore', 'stop', 'go', 'wait', 'restart') }) },
  );

  test('does what an array would do, whatever the order of steps', async () => {
    const { open, stored } = await world();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        run += 1;
        const name = String(run);
        let { queue } = await open({ name });
        let pushed = 0;
        let waiting: string[] = [];
        let given: { readonly entry: QueueEntry; readonly text: string }[] = [];
        const back = () => {
          waiting = [...given.map(({ text }) => text), ...waiting];
          given = [];
        };
        for (const each of steps) {
          if (each.kind === 'push') {
            const some = numbers(each.count).map((text) => `${pushed}-${text}`);
            pushed += 1;
            waiting.push(...some);
            push(queue, some);
          } else if (each.kind === 'take') {
            const entries = waiting.length > 0 ? await take(queue, each.count) : [];
            const expected = waiting.splice(0, entries.length);
            expect(texts(entries)).toEqual(expected);
            given.push(...entries.map((entry, index) => ({ entry, text: String(expected[index]) })));
          } else if (each.kind === 'settle') {
            for (const pick of each.picks) {
              const [one] = given.splice(pick % Math.max(1, given.length), 1);
              if (one) queue.settle(one.entry);
            }
          } else if (each.kind === 'restore') {
            queue.restore();
            back();
          } else if (each.kind === 'wait') await delay(3);
          else if (each.kind === 'restart') {
            await queue.close({ discard: false });
            ({ queue } = await open({ name }));
            back();
          } else queue.setDelivering(each.kind === 'go');
          expect(queue.length).toBe(waiting.length + given.length);
        }
        queue.restore();
        back();
        expect(await drain(queue)).toEqual(waiting);
        expect([queue.length, queue.bytes]).toEqual([0, 0]);
        await queue.close({ discard: false });
        expect(await stored()).toBe(0);
      }),
      { numRuns: runs(isLong ? 60 : 20) },
    );
  }, 180_000);
});

import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BridgeQueue } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import { postgresqlQueues } from '../../../../src/data-plane/bridges/queue/postgresql-queues.ts';
import type { QueueEntry } from '../../../../src/data-plane/bridges/queue/queue-entry.ts';
import { groupOf } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import type { WaitingMessage } from '../../../../src/data-plane/log/log-disk.ts';
import { LogParts } from '../../../../src/data-plane/log/log-parts.ts';
import { PostgresqlDisk } from '../../../../src/data-plane/log/postgresql/postgresql-disk.ts';
import { LogDatabase } from '../../../../src/data-plane/log/postgresql/postgresql-logs.ts';
import { emptyDatabase, openTestStorage } from '../../../support/database.ts';
import { startCluster, UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { startRelay } from '../../../support/relay.ts';
import { isLong, runs } from '../../../support/suite.ts';
import { drained, LARGE, message, taken, turns } from './queue-world.ts';

const postgres = usePostgres();
/** The topic and the payload of a message without properties follow its flags, its time and the length of the topic. */
const CONTENT = `SELECT convert_from(substr(payload, 15, 10) || substr(payload, 29), 'UTF8') AS text FROM messages.log_message`;

interface OpenOptions {
  readonly name?: string;
  readonly folder?: string;
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
    const database = new LogDatabase({ databaseUrl: through, onProblem: () => undefined, onLost: () => undefined });
    onTestFinished(() => database.close());
    const newStore = (folder: string) =>
      postgresqlQueues({ database, brokerId: 'brk_1', bridgeId: 'mqtt-bridge', storage: undefined, folder });
    let store: ReturnType<typeof newStore> | null = null;
    const open = async ({ name = 'test', folder = '/nowhere' }: OpenOptions = {}) => {
      const problems: (string | null)[] = [];
      store ??= newStore(folder);
      const log = await store.open(name);
      const queue = new BridgeQueue({ log, bounds: LARGE, onProblem: (reason) => problems.push(reason) });
      onTestFinished(() => queue.close({ discard: true }));
      return { queue, problems };
    };
    return { open, newStore };
  };
  const stored = async () => Number((await rows('SELECT count(*) AS n FROM messages.log_message'))[0].n);
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
    for (const entry of await taken(queue, 1)) {
      expect(entry.message).toEqual(rich);
      queue.settle(entry);
    }
    const [first, second, third] = await taken(queue, 3);
    for (const entry of [first, third]) queue.settle(entry as QueueEntry);
    expect(second?.message.payload.toString()).toBe('1');
    await queue.close({ discard: false });

    const next = (await otherProcess().open()).queue;
    expect(next.length).toBe(1_998);
    expect(await drained(next)).toEqual(['1', ...numbers(2_000).slice(3)]);
    expect([next.length, next.bytes]).toEqual([0, 0]);
    await expect.poll(stored).toBe(0);
  });

  test('a page is bounded in bytes, and a message of any size is delivered', async () => {
    const { open } = await world();
    const { queue } = await open();
    const big = 'x'.repeat(5 * 1_048_576);
    await store(queue, ['0', big, '2', '3']);
    expect((await drained(queue)).map(({ length }) => length)).toEqual([1, big.length, 1, 1]);
  });

  test('queues of a process share commits, and each has its own messages', async () => {
    const { open, rows } = await world();
    const queues = await Promise.all(numbers(40).map((name) => open({ name })));
    await Promise.all(queues.map(({ queue }, index) => store(queue, numbers(20, `${index}-`))));
    // A row has the transaction that inserted it.
    const [commits] = await rows('SELECT count(DISTINCT xmin::text) AS n FROM messages.log_message');
    expect(Number(commits.n)).toBeLessThan(30);
    for (const [index, { queue }] of queues.entries()) expect(await drained(queue)).toEqual(numbers(20, `${index}-`));
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
    expect(await drained(next)).toEqual(['a', 'b', 'c']);
    // Neither does it delete the queue.
    await next.close({ discard: false });
    const { queue: third } = await otherProcess().open();
    await former.close({ discard: true });
    await next.close({ discard: true });
    expect(await rows('SELECT FROM messages.log_owner')).toHaveLength(1);
    await store(third, ['d']);
    expect(await drained(third)).toEqual(['d']);
  });

  test('a statement of an earlier turn that arrives late stores and deletes nothing', async () => {
    const { url, rows, stored } = await world();
    const disk = new PostgresqlDisk(url, () => undefined);
    onTestFinished(() => disk.close());
    const group = groupOf('brk_1', 'mqtt-bridge');
    const owner = await disk.own(group, group, 'brk_1');
    const log = { owner, name: 'a', number: null, ttl: 0, lastId: 0, lose: () => undefined };
    const parts = new LogParts([], 0);
    const payload = Buffer.from('x');
    const done = () => undefined;
    const numbered = (id: number): WaitingMessage => {
      const part = parts.next(id, 0);
      return { id, topic: '', payload, qos: 1, bytes: 10, part, done };
    };
    const [one, two] = [numbered(1), numbered(2)];
    await disk.write([{ log, messages: [one] }]);
    const former = { ...owner };
    await disk.tables.nextTurns([owner]);
    const change = { messages: [two], settled: [{ from: 0, to: 1 }] };
    await disk.tables.write([{ log: { ...log, owner: former }, ...change }]);
    expect([former.isTaken, await stored()]).toEqual([true, 1]);
    for (let repeated = 0; repeated < 2; repeated += 1) {
      await disk.write([{ log, ...change }]);
      expect(await rows('SELECT id FROM messages.log_message')).toEqual([{ id: '2' }]);
      expect(await rows('SELECT messages, bytes FROM messages.log_part')).toEqual([{ messages: '1', bytes: '10' }]);
    }
  });

  test('the queue of a deleted broker is deleted with its messages; its owner stores nothing more', async () => {
    const { open, otherProcess, rows, stored } = await world();
    const { queue, problems } = await open();
    await store(queue, ['a']);
    await rows(`DELETE FROM "Broker"`);
    expect(await stored()).toBe(0);
    const late = push(queue, ['late']);
    await expect.poll(() => problems).toEqual([expect.stringContaining('deleted')]);
    expect(late).toEqual([]);
    await expect(otherProcess().open()).rejects.toMatchObject({ code: '23503' });
  });

  test('queues of names that are not used any more are removed, in this bridge only', async () => {
    const { open, otherProcess, rows } = await world();
    for (const name of ['kept', 'left']) {
      const { queue } = await open({ name });
      await store(queue, [name]);
      await queue.close({ discard: false });
    }
    await rows(`INSERT INTO messages.log (name, broker) VALUES ('x', '${groupOf('brk_1', 'other')}')`);
    const next = otherProcess();
    await next.newStore('/nowhere').removeOthers(['kept']);
    expect(await rows('SELECT broker FROM messages.log ORDER BY broker')).toEqual([
      { broker: groupOf('brk_1', 'mqtt-bridge') },
      { broker: groupOf('brk_1', 'other') },
    ]);
    expect((await next.open({ name: 'left' })).queue.length).toBe(0);
    const { queue } = await next.open({ name: 'kept' });
    expect(await drained(queue)).toEqual(['kept']);
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
    await expect.poll(() => waiting.length).toBe(1_000);
    expect(problems.at(-1)).toBeNull();
    await cluster.kill();
    const late = push(queue, ['late']);
    await queue.close({ discard: false });
    expect(late).toEqual([]);
    await cluster.startAgain();
    const next = (await otherProcess().open()).queue;
    expect(await drained(next)).toEqual(numbers(1_000).slice(10));
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
    await expect.poll(() => new Set(taken).size).toBe(all.length);
    expect([...found, ...(await drained(queue))]).toEqual(all);
    expect(taken).toHaveLength(all.length);
    await expect.poll(stored).toBe(0);
  });

  test('a message that is settled before its statement is sent is not stored', async () => {
    const { open, rows } = await world();
    const [{ queue: one }, { queue: other }] = [await open({ name: 'one' }), await open({ name: 'other' })];
    for (const queue of [one, other]) queue.setDelivering(false);
    await rows('BEGIN; LOCK TABLE messages.log_message IN SHARE MODE');
    push(one, ['a']);
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await expect.poll(() => rows(waits)).toHaveLength(1);
    // Waits for the next statement.
    push(other, ['b', 'c']);
    await turns(2);
    const [, entry] = other.take(2, LARGE.maxBytes);
    other.settle(entry as QueueEntry);
    await rows('COMMIT');
    const content = `${CONTENT} ORDER BY log, id`;
    const stored = async () => (await rows(content)).map(({ text }) => text);
    await expect.poll(stored).toEqual(['test/topica', 'test/topicb']);
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
    await rows('BEGIN; LOCK TABLE messages.log_message IN SHARE MODE');
    push(queue, ['a', 'b']);
    await expect.poll(() => waits('log_message')).toHaveLength(1);
    const [{ pid }] = (await waits('log_message')) as [{ pid: number }];
    await rows(`SELECT pg_terminate_backend(${pid}, 10000)`);
    await rows('LOCK TABLE messages.log_owner IN SHARE MODE');
    await expect.poll(() => waits('UPDATE messages.log_owner')).toHaveLength(1);
    const [, entry] = queue.take(2, LARGE.maxBytes);
    queue.settle(entry as QueueEntry);
    await rows('COMMIT');
    const content = `${CONTENT} ORDER BY id`;
    await expect.poll(() => rows(content)).toEqual([{ text: 'test/topica' }, { text: 'test/topicb' }]);
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
            const entries = waiting.length > 0 ? await taken(queue, each.count) : [];
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
        expect(await drained(queue)).toEqual(waiting);
        expect([queue.length, queue.bytes]).toEqual([0, 0]);
        await queue.close({ discard: false });
        expect(await stored()).toBe(0);
      }),
      { numRuns: runs(isLong ? 60 : 20) },
    );
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BridgeQueue } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import { postgresqlQueues } from '../../../../src/data-plane/bridges/queue/postgresql-queues.ts';
import { groupOf } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import { sqliteQueues } from '../../../../src/data-plane/bridges/queue/sqlite-queues.ts';
import { LogDatabase } from '../../../../src/data-plane/log/postgresql/postgresql-logs.ts';
import { writePublishProperties } from '../../../../src/protocol/mqtt/publish-properties.ts';
import { emptyDatabase, openTestStorage } from '../../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { programUrl } from '../../../support/programs.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { formerRows, RECEIVED_AT, writeFormerFile } from './former-queues.ts';
import { drained, LARGE, message, openQueue, taken } from './queue-world.ts';

const postgres = usePostgres();
const script = fileURLToPath(programUrl('test/data-plane/bridges/queue/open-process.mjs'));
/** More than several pages. */
const MANY = 6_000;
const PAGE = 500;

const numbered = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => ({ text: `${prefix}${index}` }));
const textsOf = (messages: readonly { readonly text: string }[]) => messages.map(({ text }) => text);
const properties = { contentType: 'text/plain', userProperties: [['a', '1']] } as const;
const rich = { text: 'rich', flags: 2 | 4, topic: 'ä/b', properties: writePublishProperties(properties) };

/** Runs the process again and again, until all was carried over before it was killed. Returns the number of kills. */
async function openAndKill(...args: readonly string[]): Promise<number> {
  let kills = 0;
  while (!(await openUntilKilled(args, Math.random() * 30 * (kills + 1)))) kills += 1;
  return kills;
}

async function openUntilKilled(args: readonly string[], afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  let said = '';
  child.stdout.on('data', (bytes) => {
    if (said === '') void delay(afterMs).then(() => child.kill('SIGKILL'));
    said += bytes;
  });
  await exit;
  return said.includes('done');
}

describe('in files', () => {
  test('messages of an earlier version are carried over in their order, with all that belongs to them', async () => {
    const folder = temporaryFolder();
    const former = numbered(1_200);
    const path = writeFormerFile(folder, 'test', [rich, ...former]);
    writeFormerFile(folder, 'other', numbered(3, 'other-'));

    const { queue, problems, close } = await openQueue({ folder });

    expect([existsSync(path), queue.length, problems]).toEqual([false, 1_201, []]);
    const [first] = queue.take(1, LARGE.maxBytes);
    expect(first?.message).toEqual({
      ...{ topic: 'ä/b', payload: Buffer.from('rich'), qos: 2, retain: true, receivedAt: RECEIVED_AT },
      properties,
    });
    queue.restore();
    queue.push(message('new'), () => undefined);
    expect(await drained(queue)).toEqual(['rich', ...textsOf(former), 'new']);
    expect([queue.length, queue.bytes]).toEqual([0, 0]);
    await close({ discard: false });
    const other = await openQueue({ folder, name: 'other' });
    expect(await drained(other.queue)).toEqual(['other-0', 'other-1', 'other-2']);
  });

  test('a process that is killed meanwhile loses no message, and doubles at most a page', async () => {
    const folder = temporaryFolder();
    const former = numbered(MANY);
    writeFormerFile(folder, 'test', former);
    const kills = await openAndKill(folder);

    const { queue } = await openQueue({ folder });

    const found = await drained(queue);
    expect([...new Set(found)]).toEqual(textsOf(former));
    expect(found.length - MANY).toBeLessThanOrEqual(PAGE * kills);
    expect(readdirSync(folder).filter((file) => !file.startsWith('messages.sqlite'))).toEqual([]);
  });

  test('a damaged file of an earlier version is set aside and reported', async () => {
    const folder = temporaryFolder();
    const path = writeFormerFile(folder, 'test', numbered(1));
    writeFileSync(path, 'no database at all, and longer than a header of one has to be'.repeat(20));
    const { queue, problems } = await openQueue({ folder });
    expect(problems).toEqual([expect.stringContaining('set aside')]);
    queue.push(message('b'), () => undefined);
    expect(await drained(queue)).toEqual(['b']);
    expect(readdirSync(folder)).toEqual([expect.stringContaining('.damaged')]);
  });
});

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  async function world() {
    const url = await emptyDatabase(postgres);
    await openTestStorage({ databaseUrl: url });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    const rows = async (sql: string) => (await client.query(sql)).rows;
    await rows(`INSERT INTO "Project" (id, name, "updatedAt") VALUES ('prj_1', 'p', now());
      INSERT INTO "Broker" (id, "projectId", type, name, "updatedAt") VALUES ('brk_1', 'prj_1', 'SELF_HOSTED', 'b', now())`);
    const database = new LogDatabase({ databaseUrl: url, onProblem: () => undefined, onLost: () => undefined });
    onTestFinished(() => database.close());
    const open = async (folder = '/nowhere') => {
      const place = { brokerId: 'brk_1', bridgeId: 'mqtt-bridge', storage: undefined, folder };
      const problems: (string | null)[] = [];
      const log = await postgresqlQueues({ database, ...place }).open('test');
      const queue = new BridgeQueue({ log, bounds: LARGE, onProblem: (reason) => problems.push(reason) });
      onTestFinished(() => queue.close({ discard: true }));
      return { queue, problems };
    };
    return { url, rows, open };
  }

  test('rows of an earlier version are carried over, then its files and those of a process without a database', async () => {
    const { rows, open } = await world();
    const folder = temporaryFolder();
    const [inRows, inFile, inLog] = [numbered(2_500, 'row-'), numbered(1_200, 'file-'), ['log-0', 'log-1']];
    const store = sqliteQueues(groupOf('brk_1', 'mqtt-bridge'), folder, undefined);
    const before = new BridgeQueue({ log: await store.open('test'), bounds: LARGE, onProblem: () => undefined });
    for (const text of inLog) before.push(message(text), () => undefined);
    await before.close({ discard: false });
    await store.close({ discard: false });
    writeFormerFile(folder, 'test', inFile);
    await rows(formerRows('test', [rich, ...inRows]));

    const { queue, problems } = await open(folder);

    expect([queue.length, problems, readdirSync(folder)]).toEqual([3_703, [], []]);
    expect(await rows('SELECT FROM messages.bridge_message')).toEqual([]);
    expect(await rows('SELECT FROM messages.bridge_queue')).toEqual([]);
    // Those of the log keep their ids, which are older.
    expect(await drained(queue)).toEqual([...inLog, 'rich', ...textsOf(inRows), ...textsOf(inFile)]);
    expect([queue.length, queue.bytes]).toEqual([0, 0]);
  });

  test('a message in a row keeps all that belongs to it', async () => {
    const { rows, open } = await world();
    await rows(formerRows('test', [rich]));
    const { queue } = await open();
    const [first] = await taken(queue, 1);
    expect(first?.message).toEqual({
      ...{ topic: 'ä/b', payload: Buffer.from('rich'), qos: 2, retain: true, receivedAt: RECEIVED_AT },
      properties,
    });
  });

  test('a process that is killed meanwhile loses and doubles no row', async () => {
    const { url, rows, open } = await world();
    const former = numbered(MANY);
    await rows(formerRows('test', former));
    await openAndKill('/nowhere', url);
    const { queue } = await open();
    expect(await drained(queue)).toEqual(textsOf(former));
  });

  test('a process that is killed while it moves files loses no message', async () => {
    const { url, open } = await world();
    const folder = temporaryFolder();
    const former = numbered(MANY);
    writeFormerFile(folder, 'test', former);
    await openAndKill(folder, url);
    const { queue } = await open(folder);
    expect([...new Set(await drained(queue))]).toEqual(textsOf(former));
  });
});

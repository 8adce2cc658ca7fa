import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { importFiles } from '../../../src/data-plane/log/postgresql/file-import.ts';
import { LogDatabase } from '../../../src/data-plane/log/postgresql/postgresql-logs.ts';
import { emptyDatabase, openTestStorage } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { openPostgresClient } from '../../support/postgres-client.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type FormerMessage, formerMessages, writeFormerSegments } from './former-files.ts';
import { ALWAYS, append, MEGABYTE, message, openTestStore, texts } from './store.ts';

const postgres = usePostgres();

async function world() {
  const url = await emptyDatabase(postgres);
  await openTestStorage({ databaseUrl: url });
  const client = await openPostgresClient(url);
  const problems: string[] = [];
  const onProblem = (_name: string | null, reason: string) => problems.push(reason);
  const open = async () => {
    const database = new LogDatabase({ databaseUrl: url, onProblem: () => undefined, onLost: () => undefined });
    const store = await database.open({ brokerId: 'brk_1', maxBytes: 1_024 * MEGABYTE, onProblem });
    onTestFinished(() => store.close().then(() => database.close()));
    return store;
  };
  const move = (folder: string) =>
    importFiles({ folder, databaseUrl: url, ttlOf: (id) => (id === 'deleted' ? null : 3_600), onProblem });
  const readAll = async (log: Awaited<ReturnType<typeof open>>, name: string) =>
    log.log(name).read({ ...ALWAYS, after: null, reverse: false, limit: 10_000, maxBytes: 64 * MEGABYTE });
  return { rows: async (sql: string) => (await client.query(sql)).rows, open, move, readAll, problems };
}

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('messages in files are moved with their ids, also after a kill; those of deleted streams remain', async () => {
    const { open, move, readAll, problems } = await world();
    const folder = temporaryFolder();
    const [former, mixed] = [formerMessages(1_200, 'f'), formerMessages(3, 'm')];
    const write = () => writeFormerSegments(join(folder, 'brk_1'), 'a', [former.slice(0, 700), former.slice(700)]);
    write();
    for (const id of ['b', 'deleted']) writeFormerSegments(join(folder, 'brk_1'), id, [mixed]);
    const files = openTestStore(join(folder, 'brk_1'));
    for (const id of ['c', 'deleted']) {
      files.log(id).setTtl(3_600);
      await append(files.log(id), [message('1'), message('2')]);
    }
    await files.close();

    expect(await move(folder)).toBe(1_205);
    write();
    await move(folder);

    expect([problems, readdirSync(join(folder, 'brk_1')).toSorted()]).toEqual([[], ['deleted', 'messages.sqlite']]);
    const store = await open();
    expect((await readAll(store, 'a')).map(({ id }) => id)).toEqual(former.map(({ id }) => id));
    expect(store.log('a').storage().messages).toBe(1_200);
    expect(texts(await readAll(store, 'b'))).toEqual(['m0', 'm1', 'm2']);
    expect(texts(await readAll(store, 'c'))).toEqual(['1', '2']);
    expect(store.ids().toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('a folder without messages of deleted streams disappears', async () => {
    const { move } = await world();
    const folder = temporaryFolder();
    writeFormerSegments(join(folder, 'brk_1'), 'a', [formerMessages(3)]);
    expect(await move(folder)).toBe(3);
    expect(existsSync(join(folder, 'brk_1'))).toBe(false);
  });

  test('messages in the tables of an earlier version are carried over when its broker is opened, also after a kill', async () => {
    const { rows, open, readAll } = await world();
    const messages = formerMessages(1_000);
    const [{ number }] = await rows(
      `INSERT INTO messages.stream (id, broker, last) VALUES ('a', 'brk_1', 7) RETURNING number`,
    );
    await rows(`INSERT INTO messages.stream (id, broker) VALUES ('empty', 'brk_1'), ('other', 'brk_2')`);
    const insert = async (some: readonly FormerMessage[], width: number) => {
      const [first, last] = [some[0]?.id ?? 0, some.at(-1)?.id ?? 0];
      await rows(`CREATE TABLE IF NOT EXISTS messages.stream_batch_${width} PARTITION OF messages.stream_batch
        FOR VALUES FROM (${width}, 0) TO (${width}, MAXVALUE)`);
      for (let start = 0; start < some.length; start += 50) {
        const row = some.slice(start, start + 50);
        await rows(`INSERT INTO messages.stream_batch SELECT ${number}, ${width}, min(id), max(id), 100, array_agg(id),
          array_agg(1), array_agg('t/' || text), array_agg(convert_to(text, 'UTF8')) FROM unnest(
            ARRAY[${row.map(({ id }) => id)}]::bigint[], ARRAY[${row.map(({ text }) => `'${text}'`)}]) AS m (id, text)`);
      }
      await rows(`INSERT INTO messages.stream_segment
        VALUES (${number}, ${first}, ${width}, ${some.length}, 100, ${first}, ${last})`);
    };
    await insert(messages.slice(0, 400), 480);
    await insert(messages.slice(400), 60);

    const store = await open();
    expect((await readAll(store, 'a')).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    expect(store.log('a').storage().messages).toBe(1_000);
    expect(await rows('SELECT id FROM messages.stream')).toEqual([{ id: 'other' }]);
    expect(await rows('SELECT FROM messages.stream_segment')).toEqual([]);
    expect(await append(store.log('a'), [message('new')])).toEqual([null]);
    await store.close();

    // A process of the earlier version goes on.
    const later = formerMessages(100, 'later').map(({ id, text }) => ({ id: id + 5_000_000, text }));
    await rows(
      `INSERT INTO messages.stream (number, id, broker) OVERRIDING SYSTEM VALUE VALUES (${number}, 'a', 'brk_1')`,
    );
    await insert(later, 60);
    const again = await open();
    const ids = (await readAll(again, 'a')).map(({ id }) => id);
    expect([ids.length, new Set(ids).size, again.log('a').storage().messages]).toEqual([1_101, 1_101, 1_101]);
  });
});

import { describe, expect, onTestFinished, test } from 'vitest';
import { groupOf } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import type { NewMessage, StoredMessage } from '../../../../src/data-plane/log/log-message.ts';
import type { MessageLog } from '../../../../src/data-plane/log/message-log.ts';
import { LogDatabase } from '../../../../src/data-plane/log/postgresql/postgresql-logs.ts';
import { MessageExpiry } from '../../../../src/domains/streams/hosting/message-expiry.ts';
import { ALWAYS, append, MEGABYTE, message, texts } from '../../../data-plane/log/store.ts';
import { emptyDatabase, openTestStorage, silentLog } from '../../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { openPostgresClient } from '../../../support/postgres-client.ts';

const postgres = usePostgres();

async function world() {
  const url = await emptyDatabase(postgres);
  const storage = await openTestStorage({ databaseUrl: url });
  const open = async () => {
    const database = new LogDatabase({ databaseUrl: url, onProblem: () => undefined, onLost: () => undefined });
    const store = await database.open({ brokerId: 'brk_1', maxBytes: MEGABYTE, onProblem: () => undefined });
    const close = () => store.close().then(() => database.close());
    return { store, close };
  };
  const client = await openPostgresClient(url);
  const rows = async (sql: string) => (await client.query(sql)).rows;
  return { open, rows, expiry: new MessageExpiry({ ...storage, log: silentLog }) };
}

const some = (count: number): NewMessage[] => Array.from({ length: count }, (_, index) => message(`${index}`));

const readAll = async (log: MessageLog): Promise<readonly StoredMessage[]> =>
  log.read({ ...ALWAYS, after: null, reverse: false, limit: 1_000, maxBytes: MEGABYTE });

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('messages expire: at once for what is read, by partition on disk, and also without a process that runs the stream', async () => {
    const { open, rows, expiry } = await world();
    const broker = `INSERT INTO "Project" (id, name, "updatedAt") VALUES ('prj_1', 'p', now());
      INSERT INTO "Broker" (id, "projectId", type, name, "updatedAt") VALUES ('brk_1', 'prj_1', 'SELF_HOSTED', 'b', now())`;
    await rows(broker);
    const define = (id: string, ttl: number) =>
      rows(`INSERT INTO "Stream" (id, "brokerId", name, "sourceTopic", "targetQos", ttl, active, process, persist, query)
        VALUES ('${id}', 'brk_1', '${id}', 'in', -1, ${ttl}, true, false, true, '{}')
        ON CONFLICT (id) DO UPDATE SET ttl = excluded.ttl`);
    await define('short', 1);
    await define('long', 3_600);
    await define('for-ever', 0);
    const { store, close } = await open();
    for (const [id, ttl] of [
      ['short', 1],
      ['long', 3_600],
      ['for-ever', 0],
      ['deleted', 3_600],
    ] as const) {
      store.log(id).setTtl(ttl);
      await append(store.log(id), some(3));
    }
    await expect.poll(() => readAll(store.log('short'))).toEqual([]);
    expect(await store.log('short').count(ALWAYS)).toBe(0);
    await close();

    // A message is no longer read in the millisecond in which its time is over, and deleted a moment later.
    const left = async () => {
      await expiry.run();
      const found = await rows(
        'SELECT DISTINCT name FROM messages.log_part JOIN messages.log ON number = log_part.log ORDER BY name',
      );
      return found.map(({ name }) => name);
    };
    await expect.poll(left).toEqual(['for-ever', 'long']);
    expect(await rows(`SELECT name FROM messages.log WHERE name = 'deleted'`)).toEqual([]);
    expect(await rows('SELECT FROM messages.log_message WHERE log NOT IN (SELECT number FROM messages.log)')).toEqual(
      [],
    );
    const last = await open();
    onTestFinished(last.close);
    const again = last.store;
    expect(texts(await readAll(again.log('long')))).toEqual(['0', '1', '2']);

    // A partition whose time is over is dropped when it has no segment.
    const old = Math.floor(Date.now() / 1_000 / 60) * 60 - 2 * 3_600;
    await rows(`CREATE TABLE messages.log_message_60_${old} PARTITION OF messages.log_message
      FOR VALUES FROM (60, ${old * 1e6}) TO (60, ${(old + 60) * 1e6})`);
    const number = (await rows(`SELECT number FROM messages.log WHERE name = 'long'`))[0].number;
    const put = (base: number) =>
      rows(`
      INSERT INTO messages.log_message VALUES (${number}, 60, ${base}, 34, 1, 't', 'x');
      INSERT INTO messages.log_part VALUES (${number}, 60, ${base}, 1, 34, ${base}, ${base})`);
    await put(old * 1e6);
    await define('long', 4 * 3_600);
    const exists = async () => (await rows(`SELECT to_regclass('messages.log_message_60_${old}') AS name`))[0].name;
    await expiry.run();
    expect(await exists()).not.toBeNull();
    await define('long', 3_600);
    await expiry.run();
    expect(await exists()).toBeNull();
  });

  test('queues of bridges are no streams: they remain', async () => {
    const { rows, expiry } = await world();
    await rows(`WITH log AS (
        INSERT INTO messages.log (name, broker) VALUES ('q', '${groupOf('brk_1', 'mqtt-bridge')}') RETURNING number
      ) INSERT INTO messages.log_part SELECT number, 0, 0, 1, 1, 1, 1 FROM log`);
    await expiry.run();
    expect(await rows('SELECT messages FROM messages.log_part')).toEqual([{ messages: '1' }]);
    expect(await rows('SELECT name FROM messages.log')).toEqual([{ name: 'q' }]);
  });
});

import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { DatabaseSpeed } from '../../../src/platform/storage/database-speed.ts';
import { openTestStorage } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('slow statements are one warning while they run, and one line when the database is fast again', async () => {
    const lines: { readonly level: string; readonly fields: object; readonly text: string | undefined }[] = [];
    const at =
      (level: string) =>
      (fields: object, text?: string): void =>
        void lines.push({ level, fields, text });
    const log = { debug: () => undefined, info: at('info'), warn: at('warn'), error: at('error') };
    const { db, speed } = await openTestStorage({ databaseUrl: await postgres.createDatabase(), log });
    const registry = new Registry();
    speed?.register(registry);
    const about = () => lines.filter(({ text }) => text?.startsWith('The database is'));
    const metric = async (name: string) =>
      /^\w+ (\d+)$/m.exec((await registry.getSingleMetricAsString(`brokergraph_database_${name}`)) ?? '')?.[1];

    let isOver = false;
    const slow = db.$queryRaw`SELECT pg_sleep(3)::text`.then(() => {
      isOver = true;
    });
    const other = db.$transaction((tx) => tx.$queryRaw`SELECT pg_sleep(1)::text`);
    await expect.poll(about).toHaveLength(1);
    expect(isOver).toBe(false);
    expect(about()[0]).toMatchObject({ level: 'warn', fields: { since: expect.any(Date), slowMs: 500 } });
    expect(about()[0]?.fields).toMatchObject({ statement: expect.stringContaining('pg_sleep') });
    expect(await metric('slow')).toBe('1');
    await Promise.all([slow, other]);

    // Statements that are fast end it, after some seconds: the heartbeats are enough, but SQL of the pool is sooner.
    await expect
      .poll(async () => (await db.$queryRaw`SELECT 1`) && about().length, { timeout: 60_000, interval: 500 })
      .toBe(2);
    expect(about()[1]).toMatchObject({ level: 'info', fields: { since: expect.any(Date) } });
    const slowest = { statement: 'SELECT pg_sleep(3)::text', ms: expect.any(Number) };
    expect(about()[1]?.fields).toMatchObject({ slowest });
    // Heartbeats may be slow, too, on a busy machine.
    expect(Number(await metric('slow_statements_total'))).toBeGreaterThanOrEqual(2);
    expect(await metric('slow')).toBe('0');
  });
});

test('neither fast statements nor a pause of this process are taken for a slow database', async () => {
  const warnings: unknown[] = [];
  const ignore = () => undefined;
  const speed = new DatabaseSpeed({
    debug: ignore,
    info: ignore,
    warn: (f: object) => warnings.push(f),
    error: ignore,
  });
  speed.begin()();
  const end = speed.begin();
  await new Promise(setImmediate);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
  await new Promise(setImmediate);
  end();
  expect(warnings).toEqual([]);
});

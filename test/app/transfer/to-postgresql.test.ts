import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { servedBy } from '../../data-plane/broker/tls.ts';
import { runHere, startCommand } from '../../support/command.ts';
import { openTestStorage, temporaryFolder } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { connected, createEverything, MESSAGES, replayed, STORED } from './everything.ts';
import { auditOf, record } from './recording.ts';

const postgres = usePostgres();

const start = (dataDir: string, databaseUrl = '', embeddedBroker = true): Promise<TestService> =>
  startTestService({ dataDir, embeddedBroker, env: { DATABASE_URL: databaseUrl, MQTT_TLS_PORT: '0' } });

const COUNT = `SELECT sum((xpath('//n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', table_name),
    false, true, '')))[1]::text::int)::int AS rows
  FROM information_schema.tables WHERE table_schema = 'public' AND table_name <> '_prisma_migrations'`;

async function connect(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return { client, rows: async () => (await client.query(COUNT)).rows[0].rows as number | null };
}

/** Makes a copy wait at the first token, one of the last rows. `waits`: whether one does. */
async function holdTokens(url: string) {
  const { client, rows } = await connect(url);
  await client.query(`SELECT pg_advisory_lock(7);
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END';
    CREATE TRIGGER hold BEFORE INSERT ON "ProjectToken" FOR EACH ROW EXECUTE FUNCTION hold()`);
  const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  return {
    rows,
    waits: async () => (await client.query(waiting)).rowCount === 1,
    release: () => client.query('SELECT pg_advisory_unlock(7); DROP FUNCTION hold CASCADE'),
  };
}

describe.skipIf(!postgres.available)(`migrate --to${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('also after a run that was killed, all reads are the same with PostgreSQL, the audit is intact, sessions and tokens work, messages replay', async () => {
    const dataDir = temporaryFolder();
    const service = await start(dataDir);
    const all = await createEverything(service);
    const before = await record(service, all);
    await service.close();
    const audit = await auditOf(dataDir);
    const url = await postgres.createDatabase();
    const env = { DATA_DIR: dataDir };

    await (await openTestStorage({ databaseUrl: url })).close();
    const held = await holdTokens(url);
    const first = startCommand(['migrate', '--to', url], env);
    await expect.poll(held.waits, { timeout: 60_000 }).toBe(true);
    await first.kill();
    await held.release();
    expect([await held.rows(), existsSync(join(dataDir, 'streams'))]).toEqual([0, true]);

    const done = await runHere(['migrate', '--to', url, '--json'], env);
    expect([done.code, done.err]).toEqual([0, '']);
    const report = JSON.parse(done.out);
    expect(report).toMatchObject({ isDryRun: false, messages: STORED * 2 });
    expect(await held.rows()).toBe(report.tables.reduce((sum: number, one: { rows: number }) => sum + one.rows, 0));
    expect(readdirSync(dataDir).filter((name) => name.startsWith('streams'))).toEqual([
      expect.stringMatching(/^streams\.copied-\d{8}T\d{6}Z$/),
    ]);

    const later = await start(dataDir, url);
    expect(later.storage.engine).toBe('postgresql');
    await connected(later, all.brokerIds);
    await expect.poll(() => record(later, all), { timeout: 60_000, interval: 2_000 }).toEqual(before);
    const entries = later.storage.db.auditEntry.findMany({ orderBy: { sequence: 'asc' }, take: audit.length });
    expect(await entries).toEqual(audit);
    const { data } = await later.graphql('{ verifyAudit { isIntact problemCount } }', {}, all.session);
    expect(data.verifyAudit).toEqual({ isIntact: true, problemCount: 0 });
    expect(await servedBy(all.tlsPort)).toBe(all.fingerprint);
    for (const n of all.brokerIds.keys()) expect(await replayed(later, all, n)).toEqual(MESSAGES);
  });

  test('is refused while a service runs, to a database with data, or without a database, and changes nothing; then it is done', async () => {
    const dataDir = temporaryFolder();
    const env = { DATA_DIR: dataDir };
    const url = await postgres.createDatabase();
    const { client, rows } = await connect(url);
    const refusal = async (args: readonly string[], more: Record<string, string> = {}) => {
      const { code, out, err } = await runHere(['migrate', ...args], { ...env, ...more });
      expect([code, out]).toEqual([1, '']);
      return err;
    };
    const service = await start(dataDir, '', false);
    expect(await refusal(['--to', url])).toContain('is in use by process');
    await service.close();

    const used = await postgres.createDatabase();
    const other = await openTestStorage({ databaseUrl: used });
    await other.db.user.create({ data: { id: 'usr_1', email: 'theirs@example.com', name: 'theirs' } });
    expect(await refusal(['--to', used])).toMatch(/already has data \(User: 1\). Create an empty database/);
    expect(await refusal(['--to', used, '--dry-run'])).toContain('already has data');
    expect(await other.db.user.count()).toBe(1);
    expect(await refusal(['--to', 'mysql://127.0.0.1/x'])).toContain('--to must be a PostgreSQL URL');
    expect(await refusal(['--to', 'postgresql://me:secret@127.0.0.1:9/x'])).toMatch(
      /^error: Cannot connect to PostgreSQL at 127\.0\.0\.1:9\/x: (?!.*secret)/,
    );
    expect(await refusal(['--to', url], { DATABASE_URL: url })).toContain('DATABASE_URL is set');
    const nowhere = join(dataDir, 'nowhere');
    expect(await refusal(['--to', url], { DATA_DIR: nowhere })).toContain('There is no data in');
    expect(existsSync(nowhere)).toBe(false);
    expect(await refusal(['--dry-run'])).toContain('--dry-run requires --to');

    const dry = await runHere(['migrate', '--to', url, '--dry-run'], env);
    expect([dry.code, dry.err, await rows()]).toEqual([0, '', null]);
    expect(dry.out).toMatch(/^User +1$[\s\S]*Nothing was copied\.\n$/m);
    const done = await runHere(['migrate', '--to', '-'], env, `${url}\n`);
    expect([done.code, done.err, done.out]).toEqual([0, '', expect.stringContaining('All was copied.')]);
    expect((await client.query('SELECT email FROM "User"')).rows).toEqual([{ email: 'root@example.com' }]);
    expect(await refusal(['--to', url])).toContain('already has data');
  });
});

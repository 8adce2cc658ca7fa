import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { connectPostgresql } from '../../../src/platform/storage/postgresql/postgresql-connection.ts';
import { openTestStorage, temporaryFolder } from '../../support/database.ts';
import { startPgbouncer } from '../../support/pgbouncer.ts';
import { hasPgbouncer, PGBOUNCER_MISSING } from '../../support/pgbouncer-program.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { openPostgresClient } from '../../support/postgres-client.ts';
import { ROOT, startTestService } from '../../support/service.ts';

/** PostgreSQL as operators have it: with other defaults, with limits, behind poolers. */

const postgres = usePostgres();
const name = (url: string) => new URL(url).pathname.slice(1);

const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
const TIMES = `{
  processes { startedAt }
  viewer { sessions { createdAt lastUsedAt } }
  auditEvents(first: 1000) { nodes { id at } }
}`;

/** The times of a row that are not in the future. */
const timesOf = ({ startedAt, seenAt, createdAt, lastUsedAt, at, failedAt }: Record<string, string | Date>) =>
  [startedAt, seenAt, createdAt, lastUsedAt, at, failedAt].filter((time) => time !== undefined);

async function refusal(databaseUrl: string): Promise<string> {
  const error = await openTestStorage({ databaseUrl }).then(
    () => 'not refused',
    (reason: unknown) => (reason as Error).message,
  );
  return error;
}

/** Runs statements as the administrator of the server. */
async function administer(url: string, ...statements: string[]): Promise<void> {
  const client = await openPostgresClient(url);
  for (const sql of statements) await client.query(sql);
  await client.end();
}

describe.skipIf(!postgres.available)(`PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('with any DateStyle and time zone stores the same times', async () => {
    const databaseUrl = await postgres.createDatabase();
    const database = name(databaseUrl);
    await administer(
      databaseUrl,
      `ALTER DATABASE ${database} SET default_transaction_isolation = 'serializable'`,
      `ALTER DATABASE ${database} SET statement_timeout = '7s'`,
    );
    const styles = ['ISO, MDY', 'SQL, DMY', 'SQL, YMD', 'Postgres, MDY', 'German, DMY'];
    const zones = ['UTC', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Chatham'];
    const times = [
      '1970-01-01T00:00:00.000Z',
      '1999-12-31T23:59:59.999Z',
      '2026-03-08T07:30:00.001Z',
      '2026-10-25T01:30:00.120Z',
      '9999-12-31T18:00:00.000Z',
    ];
    const pairs = styles.flatMap((style) => zones.map((zone) => [style, zone] as const));
    const options = { dataDir: temporaryFolder(), databaseUrl };
    for (const [style, zone] of pairs) {
      await administer(
        databaseUrl,
        `ALTER DATABASE ${database} SET DateStyle = '${style}'`,
        `ALTER DATABASE ${database} SET TimeZone = '${zone}'`,
      );
      const storage = await openTestStorage(options);
      const { db } = storage;
      // What was written with the previous settings is read with these.
      const users = await db.user.findMany({ orderBy: { createdAt: 'asc' } });
      if (users.length > 0) expect(users.map(({ createdAt }) => createdAt.toISOString())).toEqual(times);
      await db.user.deleteMany();
      for (const createdAt of times) {
        const id = newId('user');
        await db.user.create({ data: { id, email: `${id}@example.org`, name: 'Ada', createdAt } });
      }
      await storage.close();
    }
    const { db } = await openTestStorage(options);
    const client = await connectPostgresql(databaseUrl, 'test');
    expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }]);
    await client.end();
    // The default of a column without time zone.
    await db.$executeRawUnsafe(
      `INSERT INTO "User" (id, email, name, "updatedAt") VALUES ('raw', 'raw@example.org', 'Raw', now())`,
    );
    const { createdAt } = await db.user.findUniqueOrThrow({ where: { id: 'raw' } });
    expect(Math.abs(createdAt.getTime() - Date.now())).toBeLessThan(600_000);
    expect(await db.$queryRawUnsafe('SHOW transaction_isolation')).toEqual([
      { transaction_isolation: 'read committed' },
    ]);
  });

  test('with any DateStyle and time zone reports the times that statements write', async () => {
    const databaseUrl = await postgres.createDatabase();
    const env = { DATABASE_URL: databaseUrl, SECRET_KEY: '5e'.repeat(32) };
    const settings = [
      ['German, DMY', 'Asia/Kolkata'],
      ['SQL, DMY', 'America/St_Johns'],
      ['Postgres, MDY', 'Pacific/Chatham'],
    ] as const;
    let known: readonly object[] = [];
    for (const [style, zone] of settings) {
      await administer(
        databaseUrl,
        `ALTER DATABASE ${name(databaseUrl)} SET DateStyle = '${style}'`,
        `ALTER DATABASE ${name(databaseUrl)} SET TimeZone = '${zone}'`,
      );
      const service = await startTestService({ env });
      await service.graphql(LOGIN, { input: { email: ROOT.email, password: 'wrong' } }, null);
      const { data } = await service.graphql(TIMES);
      // What was written with the previous settings is read with these.
      const { auditEvents, processes, viewer } = data;
      expect(auditEvents.nodes.slice(auditEvents.nodes.length - known.length)).toEqual(known);
      expect(auditEvents.nodes.length).toBeGreaterThan(known.length);
      known = auditEvents.nodes;
      const { db } = service.storage;
      const rows = [...(await db.process.findMany()), ...(await db.loginFailure.findMany())];
      const times = [...processes, ...viewer.sessions, ...auditEvents.nodes, ...rows].flatMap(timesOf);
      for (const time of times) expect(Math.abs(new Date(time).getTime() - Date.now())).toBeLessThan(600_000);
      await service.close();
    }
  });

  test('with an encoding other than UTF8 is refused', async () => {
    const databaseUrl = await postgres.createDatabase();
    const latin = `${name(databaseUrl)}_latin`;
    const created = `CREATE DATABASE ${latin} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`;
    await administer(databaseUrl, created);
    expect(await refusal(databaseUrl.replace(name(databaseUrl), latin))).toContain(
      `names the database ${latin} with encoding LATIN1: UTF8 is required`,
    );
  });

  test('is refused with what the role lacks, and used when it has it', async () => {
    const databaseUrl = await postgres.createDatabase();
    const role = `${name(databaseUrl)}_role`;
    await administer(databaseUrl, `CREATE ROLE ${role} LOGIN CONNECTION LIMIT 4`);
    const url = databaseUrl.replace(/\/\/[^@]*@/, `//${role}@`);
    const sentences = [
      `may not create tables: GRANT CREATE ON SCHEMA public TO "${role}"`,
      `may not create the schema of stored messages: GRANT CREATE ON DATABASE "${name(databaseUrl)}" TO "${role}"`,
    ];
    for (const sentence of sentences) {
      const said = await refusal(url);
      expect(said).toContain(sentence);
      await administer(databaseUrl, said.slice(said.indexOf('GRANT')));
    }
    expect(await refusal(url)).toContain('names a server with 3 free connections: at least 5 are required');
    await administer(databaseUrl, `ALTER ROLE ${role} CONNECTION LIMIT 30`);
    await (await openTestStorage({ databaseUrl: url })).ping();
  });

  test.skipIf(!hasPgbouncer).each(['transaction', 'statement'] as const)(
    `behind a pooler with pool_mode %s is refused${hasPgbouncer ? '' : ` (${PGBOUNCER_MISSING})`}`,
    async (mode) => {
      const databaseUrl = await postgres.createDatabase();
      for (const settings of [{}, { server_round_robin: 1 }, { default_pool_size: 1 }]) {
        expect(await refusal(await startPgbouncer(databaseUrl, mode, settings))).toContain(
          'leads to a connection pooler that shares sessions',
        );
      }
    },
  );

  test.skipIf(!hasPgbouncer)('behind a pooler with pool_mode session is used', async () => {
    const databaseUrl = await startPgbouncer(await postgres.createDatabase(), 'session');
    const [one, two] = [await openTestStorage({ databaseUrl }), await openTestStorage({ databaseUrl })];
    const heard = new Promise<string>((resolve) => two.changes.on('test', (id) => resolve(id)));
    await one.changes.announce('test', 'an id');
    expect(await heard).toBe('an id');
  });

  test('a URL says what is wrong with it', async () => {
    const databaseUrl = await postgres.createDatabase();
    expect(await refusal(databaseUrl.replace('//', '//user:a/b@'))).toContain(
      'Encode special characters of the password',
    );
    expect(await refusal('mysql://localhost/name')).toContain('must be a PostgreSQL URL');
    const { hostname, port, username, pathname } = new URL(databaseUrl);
    const byParameter = `postgresql://${username}@${pathname}?host=${hostname}&port=${port}`;
    await (await openTestStorage({ databaseUrl: byParameter })).ping();
  });
});

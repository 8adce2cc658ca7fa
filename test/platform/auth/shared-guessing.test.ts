import { TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { LoginFailures } from '../../../src/platform/auth/login-failures.ts';
import { LoginThrottle } from '../../../src/platform/auth/login-throttle.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { openTestStorage, temporaryFolder } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { PASSWORD, ROOT, type TestService } from '../../support/service.ts';
import { startTestServices } from '../../support/services.ts';
import { recordStatements } from '../../support/statements.ts';

const postgres = usePostgres();

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';
const UNLOCK = 'mutation ($id: ID!) { unlockUser(input: { userId: $id }) { user { id } } }';

const FREE = 5;
/** Password checks that one process runs at the same time for callers in unknown networks. */
const CONCURRENT = 2;

async function attemptAt({ graphql }: TestService, input: object): Promise<string> {
  const { errors } = await graphql(LOGIN, { i: input }, null);
  return errors?.[0]?.extensions.code ?? 'IN';
}

/** Waiting times of 1, 2, 4 … s that may have ended since, on a busy machine. */
const endedWaits = (since: number) => Math.floor(Math.log2((performance.now() - since) / 1_000 + 1));

/** Attempts one after the other, in turn at each service, until one has to wait. Returns the codes before. */
async function untilRefused(services: readonly TestService[], input: object): Promise<string[]> {
  const codes: string[] = [];
  for (let n = 0; n < 30; n += 1) {
    const code = await attemptAt(services[n % services.length] as TestService, input);
    if (code === 'RATE_LIMITED') break;
    codes.push(code);
  }
  return codes;
}

describe.skipIf(!postgres.available)(`on PostgreSQL ${postgres.available ? '' : `(${UNAVAILABLE})`}`, () => {
  test('guesses at three services at once exceed the free ones by less than the checks in flight', async () => {
    const services = await startTestServices(postgres, 3);
    const since = performance.now();
    const codes = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        attemptAt(services[n % 3] as TestService, { email: ROOT.email, password: `guess number ${n}` }),
      ),
    );
    const checked = codes.filter((code) => code === 'UNAUTHORIZED').length;
    expect(checked).toBeGreaterThanOrEqual(FREE);
    expect(checked).toBeLessThanOrEqual(FREE + 3 * CONCURRENT - 1 + endedWaits(since));
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(60 - checked);
    // The owner waits as well, everywhere, until the wait has ended or an administrator ends it.
    const [one, two, three] = services as [TestService, TestService, TestService];
    const user = await one.storage.db.user.findUniqueOrThrow({ where: { email: ROOT.email } });
    await two.graphql(UNLOCK, { id: user.id }, one.root);
    await expect.poll(() => attemptAt(three, ROOT)).toBe('IN');
  });

  test('guesses one after the other count over all services, also those of a second factor', async () => {
    const services = await startTestServices(postgres, 3);
    const first = services[0] as TestService;
    const guessed = async (input: object) => {
      const since = performance.now();
      const codes = await untilRefused(services, input);
      expect(codes.length).toBeGreaterThanOrEqual(FREE);
      expect(codes.length).toBeLessThanOrEqual(FREE + endedWaits(since));
      return new Set(codes);
    };
    const { email } = await first.person(null);
    expect(await guessed({ email, password: 'a guess' })).toEqual(new Set(['UNAUTHORIZED']));

    const person = await first.person(null);
    const { secondFactors } = first.services.auth;
    const { secret } = await secondFactors.begin(person.id);
    await secondFactors.confirm(person.id, new TOTP({ secret }).generate(), '');
    const wrong = new TOTP({ secret }).generate({ timestamp: Date.now() + 3_000_000 });
    const codes = await guessed({ email: person.email, password: PASSWORD, code: wrong });
    expect(codes).toEqual(new Set(['UNAUTHORIZED']));
  });

  test('a sign-in at one service ends the count of all, and costs one statement', async () => {
    const [one, two] = (await startTestServices(postgres, 2)) as [TestService, TestService];
    const { email } = await one.person(null);
    const fail = async (service: TestService, times: number) => {
      const codes: string[] = [];
      for (let n = 0; n < times; n += 1) codes.push(await attemptAt(service, { email, password: 'a guess' }));
      return new Set(codes);
    };
    const succeed = () => attemptAt(two, { email, password: PASSWORD });
    expect(await fail(one, 4)).toEqual(new Set(['UNAUTHORIZED']));
    expect(await succeed()).toBe('IN');
    expect(await fail(one, 4)).toEqual(new Set(['UNAUTHORIZED']));
    expect(await succeed()).toBe('IN');
    const statements = recordStatements();
    expect(await succeed()).toBe('IN');
    expect(statements().filter((sql) => sql.includes('LoginFailure'))).toHaveLength(1);
  });

  test('guesses count while the database reads, but does not write', async () => {
    const [service] = (await startTestServices(postgres, 1)) as [TestService];
    const { email } = await service.person(null);
    const { db } = service.storage;
    await db.$executeRaw`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'the disk is full' USING ERRCODE = 'disk_full';
    END $$`;
    await db.$executeRaw`CREATE TRIGGER refuse BEFORE INSERT ON "LoginFailure" EXECUTE FUNCTION refuse()`;
    const since = performance.now();
    const codes = await untilRefused([service], { email, password: 'a guess' });
    expect(codes.length).toBeGreaterThanOrEqual(FREE);
    expect(codes.length).toBeLessThanOrEqual(FREE + endedWaits(since));
    // The user waits, too.
    await db.$executeRaw`DROP TRIGGER refuse ON "LoginFailure"`;
    await expect.poll(() => attemptAt(service, { email, password: PASSWORD })).toBe('IN');
  });

  /** The count of a process, whose clock is `offsetMs` off. */
  async function openProcess(databaseUrl: string, dataDir = temporaryFolder(), offsetMs = 0) {
    const { db } = await openTestStorage({ databaseUrl });
    const throttle = new LoginThrottle(() => performance.now() + offsetMs);
    const secretKey = '5e'.repeat(32);
    return { db, throttle, failures: new LoginFailures({ db, throttle, sealer: openSealer({ dataDir, secretKey }) }) };
  }

  const stranger = (account: string, address: string) => ({ account, address, trust: 'NONE' }) as const;

  test('failures at the same moment are all counted, whatever the clocks of the processes show', async () => {
    const databaseUrl = await postgres.createDatabase();
    const offsets = [0, 3_600_000, -3_600_000];
    const processes = await Promise.all(offsets.map((ms) => openProcess(databaseUrl, temporaryFolder(), ms)));
    const everyone = Array.from({ length: 48 }, (_, n) =>
      processes[n % 3]?.failures.failed(stranger('ann', `10.0.0.${n}`)),
    );
    await Promise.all(everyone);
    const next = stranger('ann', '192.0.2.1');
    for (const { failures, throttle } of processes) {
      await failures.read(next);
      throttle.check(next);
    }
    // More than the 50 free ones, so that the wait is longer than this test takes.
    for (let n = 0; n < 10; n += 1) await processes[n % 2]?.failures.failed(stranger('ann', `10.0.1.${n}`));
    for (const { failures, throttle } of processes) {
      await failures.read(next);
      expect(() => throttle.check(next)).toThrow('try again in');
      // Strangers do not make a known network wait, nor another account.
      for (const other of [{ ...next, trust: 'KNOWN_NETWORK' } as const, stranger('bob', '192.0.2.1')]) {
        await failures.read(other);
        throttle.check(other);
      }
    }
    await processes[2]?.failures.unlock('ann');
    await processes[1]?.failures.read(next);
    processes[1]?.throttle.check(next);
  });

  test('expired rows and the oldest ones beyond the maximum are deleted, and no name is stored', async () => {
    const databaseUrl = await postgres.createDatabase();
    const dataDir = temporaryFolder();
    const { db, failures } = await openProcess(databaseUrl, dataDir);
    await db.$executeRawUnsafe(`
      INSERT INTO "LoginFailure" ("key", "count", "failedAt", "expiresAt")
      SELECT 'k' || n, 1, now() AT TIME ZONE 'UTC' - n * interval '1 ms',
        now() AT TIME ZONE 'UTC' + CASE WHEN n % 1000 = 0 THEN -1 ELSE 1 END * interval '1 h'
      FROM generate_series(1, 61000) n`);
    await failures.failed(stranger('a password in the wrong field', '192.0.2.1'));
    expect(await db.loginFailure.count()).toBe(60_000);
    const where = { key: { in: ['k1', 'k1000', 'k59999', 'k60999'] } };
    const left = await db.loginFailure.findMany({ where, orderBy: { key: 'asc' } });
    expect(left.map(({ key }) => key)).toEqual(['k1', 'k59999']);
    const text = JSON.stringify(await db.loginFailure.findMany({ where: { key: { not: { startsWith: 'k' } } } }));
    expect(text).not.toMatch(/password|192\.0\.2/);
    expect(JSON.parse(text)).toHaveLength(3);
    // The count of another process continues, also after this one has ended.
    const other = await openProcess(databaseUrl, dataDir);
    for (let n = 0; n < 10; n += 1) await failures.failed(stranger('ann', '192.0.2.7'));
    await other.failures.failed(stranger('ann', '192.0.2.7'));
    expect(() => other.throttle.check(stranger('ann', '192.0.2.7'))).toThrow('try again in');
  });
});

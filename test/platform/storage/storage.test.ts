import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { diskFaultOf } from '../../../src/platform/storage/folder/disk-faults.ts';
import {
  isDatabaseUnavailable,
  isForeignKeyViolation,
  isNotFound,
  isTransactionConflict,
  isUniqueViolation,
} from '../../../src/platform/storage/prisma-errors.ts';
import { openStorage } from '../../../src/platform/storage/storage.ts';
import { newDatabaseUrl, openTestStorage, silentLog, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';

function user(email = `${newId('user')}@example.org`) {
  return { id: newId('user'), email, name: 'Ada' };
}

describeEngines((engine, postgres) => {
  const open = async () => openTestStorage({ databaseUrl: await newDatabaseUrl(engine, postgres) });

  test('retains data after it is opened again', async () => {
    const options = { dataDir: temporaryFolder(), databaseUrl: await newDatabaseUrl(engine, postgres) };
    const first = await openTestStorage(options);
    const { id, createdAt } = await first.db.user.create({ data: user() });
    await first.close();

    const second = await openTestStorage(options);

    expect(second.engine).toBe(engine);
    expect((await second.db.user.findUnique({ where: { id } }))?.createdAt).toEqual(createdAt);
  });

  test('responds to ping until it is closed', async () => {
    const storage = await open();
    await storage.ping();
    await storage.close();
    await storage.close();
    await expect(storage.ping()).rejects.toThrow();
  });

  test('distinguishes a unique violation, a foreign key violation and a missing row', async () => {
    const { db } = await open();
    const ada = await db.user.create({ data: user() });

    const taken = await failure(db.user.create({ data: user(ada.email) }));
    const dangling = await failure(
      db.organizationMember.create({ data: { userId: ada.id, organizationId: newId('organization') } }),
    );
    const missing = await failure(db.user.delete({ where: { id: newId('user') } }));

    const told = (error: unknown) => [isUniqueViolation(error), isForeignKeyViolation(error), isNotFound(error)];
    expect([told(taken), told(dangling), told(missing)]).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
  });

  if (engine === 'postgresql') {
    test('distinguishes a lost connection and a server that shuts down from other errors', async () => {
      const { db } = await open();
      const ended = await failure(db.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`);
      const within = failure(
        db.$transaction(async (tx) => {
          await tx.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`.catch(() => undefined);
          await tx.user.count();
        }),
      );
      const wrong = await failure(db.$queryRaw`SELECT 1 / 0`);
      const missing = await failure(db.user.delete({ where: { id: newId('user') } }));
      const told = [ended, await within, wrong, missing].map(isDatabaseUnavailable);
      expect(told).toEqual([true, true, false, false]);
      expect(await db.user.count()).toBe(0);
    });
  }

  if (engine === 'postgresql') {
    test('names the fault of a disk, also in a transaction', async () => {
      const { db } = await open();
      const raise = (code: string) =>
        `DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '${code}'; END $$`;
      const full = await failure(db.$executeRawUnsafe(raise('53100')));
      const inTransaction = await failure(db.$transaction((tx) => tx.$executeRawUnsafe(raise('58030'))));
      const wrong = await failure(db.$queryRaw`SELECT 1 / 0`);
      const faults = [full, inTransaction, wrong].map(diskFaultOf);
      expect(faults).toEqual(['the disk is full', 'the disk reports an error', null]);
    });
  }

  test('retains an acknowledged write after the rollback of a concurrent transaction', async () => {
    const { db } = await open();
    const opened = deferred();
    const end = deferred();
    const undone = db.$transaction(async (tx) => {
      await tx.user.create({ data: user() });
      opened.resolve();
      await end.promise;
      throw new Error('undo');
    });
    await opened.promise;
    // Prisma sends a query when it is first waited for, so both are waited for here.
    const meanwhile = db.user.create({ data: user() }).then(({ id }) => id);
    const reading = db.user.count().then((count) => count);
    // The write may be acknowledged now or, with one connection, when the transaction has ended.
    setImmediate(() => end.resolve());

    await expect(undone).rejects.toThrow('undo');
    const id = await meanwhile;

    expect(await db.user.findMany({ select: { id: true } })).toEqual([{ id }]);
    expect(await reading).toBeLessThanOrEqual(1);
  });

  // Many rounds: the conflict shows at a statement or at the COMMIT, as it happens.
  test('only one of several conflicting serializable transactions commits', async () => {
    const { db } = await open();
    for (let round = 0; round < 30; round += 1) {
      await db.user.deleteMany();
      const data = [user(), user()];
      await db.user.createMany({ data });
      const outcomes = await Promise.allSettled(
        data.map(({ id }) =>
          db.$transaction(
            async (tx) => {
              if ((await tx.user.count()) === 1) throw new Error('the last one stays');
              await tx.user.delete({ where: { id } });
            },
            { isolationLevel: 'Serializable' },
          ),
        ),
      );
      const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      expect(reasons).toHaveLength(1);
      expect(isTransactionConflict(reasons[0]) || reasons[0].message === 'the last one stays').toBe(true);
      expect(await db.user.count()).toBe(1);
    }
  });

  test('retains every row of many concurrent writers and transactions', async () => {
    const { db } = await open();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) =>
        index % 3 === 0
          ? db.$transaction(
              async (tx) => {
                const row = await tx.user.create({ data: user() });
                if (index % 2 === 0) throw new Error('undo');
                return row;
              },
              { maxWait: 20_000 },
            )
          : db.user.create({ data: user() }),
      ),
    );
    const acknowledged = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.id] : []));
    const rows = await db.user.findMany({ select: { id: true } });
    expect(acknowledged).toHaveLength(50);
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(acknowledged));
  });
});

test('SQLite writes ahead, waits for the disk and checks foreign keys on the connection that Prisma uses', async () => {
  const { db } = await openTestStorage({ databaseUrl: undefined });
  const pragma = async (name: string) => Object.values((await db.$queryRawUnsafe<object[]>(`PRAGMA ${name}`))[0] ?? {});
  expect(await pragma('journal_mode')).toEqual(['wal']);
  expect((await pragma('synchronous')).map(Number)).toEqual([2]);
  expect((await pragma('foreign_keys')).map(Number)).toEqual([1]);
  expect((await pragma('busy_timeout')).map(Number)).toEqual([5_000]);
});

test('statements of SQLite in a row let the event loop handle other events', async () => {
  const { db } = await openTestStorage({ databaseUrl: undefined });
  let iterations = 0;
  let immediate = setImmediate(function iterate() {
    iterations += 1;
    immediate = setImmediate(iterate);
  });
  const query = async ({ user }: Pick<typeof db, 'user'>) => {
    for (let count = 0; count < 3_000; count += 1) await user.count();
  };
  await query(db);
  const alone = iterations;
  await db.$transaction(query, { timeout: 60_000 });
  clearImmediate(immediate);
  expect(alone).toBeGreaterThan(0);
  expect(iterations).toBeGreaterThan(alone);
});

test('the data folder and the database are readable by their owner only', async () => {
  const dataDir = join(temporaryFolder(), 'data');
  await openTestStorage({ dataDir, databaseUrl: undefined });
  const mode = (file: string) => (statSync(join(dataDir, file)).mode & 0o777).toString(8);
  expect(mode('.')).toBe('700');
  expect(['brokergraph.db', 'brokergraph.db-wal', 'brokergraph.db-shm'].map(mode)).toEqual(['600', '600', '600']);
});

test.each([
  ['mysql://localhost/x', 'INVALID'],
  ['not a url', 'INVALID'],
  ['postgresql://localhost/x?schema=other', 'INVALID'],
  ['postgresql://ada:hunter2@127.0.0.1:1/x', 'INTERNAL_ERROR'],
])('refuses the database URL %s with %s, without its password', async (databaseUrl, code) => {
  const dataDir = temporaryFolder();
  const error = await failure(openStorage({ dataDir, databaseUrl, log: silentLog }));
  expect(error).toMatchObject({ code });
  expect(String(error)).not.toContain('hunter2');
  // The folder is free again.
  await openTestStorage({ dataDir, databaseUrl: undefined });
});

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('a data folder that cannot be created is an immediate error', async () => {
  const opening = openStorage({ dataDir: '/proc/brokergraph/data', log: silentLog });
  await expect(opening).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
});

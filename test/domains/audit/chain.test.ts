import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { hashOf, Marks, type UnchainedEntry } from '../../../src/domains/audit/audit-chain.ts';
import { auditLines } from '../../../src/domains/audit/audit-download.ts';
import { AuditLog } from '../../../src/domains/audit/audit-log.ts';
import { AuditRetention } from '../../../src/domains/audit/audit-retention.ts';
import { type AuditPage, countEntries, findEntries } from '../../../src/domains/audit/audit-search.ts';
import { PAGE, verifyChain } from '../../../src/domains/audit/audit-verification.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { Database } from '../../../src/platform/storage/database.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { newDatabaseUrl, openTestStorage, silentLog } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';

const SECRET_KEY = randomBytes(32).toString('base64');
const marksOf = (secretKey: string) => new Marks(openSealer({ dataDir: '/nowhere', secretKey }));
const MARKS = marksOf(SECRET_KEY);
const DAY_MS = 86_400_000;

const entry = (n: number, at = new Date()): UnchainedEntry => ({
  id: newId('auditEvent'),
  at,
  actorKind: 'USER',
  actorId: `usr_${n % 3}`,
  actorName: 'somebody@example.com',
  actorIssuer: null,
  address: '::1',
  requestId: `request-${n}`,
  via: 'GRAPHQL',
  operation: 'updateProject',
  projectId: null,
  brokerId: null,
  targetKind: 'project',
  targetId: 'prj_1',
  before: null,
  after: JSON.stringify({ description: `number ${n} "ü" \ud83d\ude00` }),
  result: 'DONE',
  code: null,
});

function logOf(db: Database, settled: string[] = []) {
  const onSettled = (entries: readonly UnchainedEntry[], written: boolean) => {
    if (written) settled.push(...entries.map(({ id }) => id));
  };
  return new AuditLog({ db, marks: MARKS, log: silentLog, onSettled });
}

async function write(db: Database, count: number, at?: Date): Promise<void> {
  const log = logOf(db);
  await Promise.all(Array.from({ length: count }, (_, n) => log.append(entry(n, at))));
  await log.close();
}

const verify = (db: Database, expected: string | null = null) => verifyChain(db, MARKS, expected);
/** How often others have their turn meanwhile. */
async function turnsOf<T>(work: () => Promise<T>): Promise<[T, number]> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  try {
    const result = await work();
    return [result, turns];
  } finally {
    clearImmediate(next);
  }
}

const problemsOf = async (db: Database) => (await verify(db)).problems;

/** Computes all hashes from an entry on again, as an attacker can who knows the algorithm but has no key. */
async function rewrite(db: Database, from: number): Promise<void> {
  let previousHash =
    from === 1 ? '0'.repeat(64) : (await db.auditEntry.findUniqueOrThrow({ where: { sequence: from - 1 } })).hash;
  for (const row of await db.auditEntry.findMany({
    where: { sequence: { gte: from } },
    orderBy: { sequence: 'asc' },
  })) {
    const { hash: _hash, ...rest } = { ...row, previousHash };
    const hash = hashOf(rest);
    await db.auditEntry.update({ where: { sequence: row.sequence }, data: { previousHash, hash } });
    previousHash = hash;
  }
}

describeEngines((engine, postgres) => {
  const open = async () => (await openTestStorage({ databaseUrl: await newDatabaseUrl(engine, postgres) })).db;

  test('what several writers append at once is one chain without gaps, in the order of each', async () => {
    const db = await open();
    const settled: string[] = [];
    const logs = [logOf(db, settled), logOf(db, settled), logOf(db, settled)];
    const appended: string[][] = logs.map(() => []);
    await Promise.all(
      logs.flatMap((log, index) =>
        Array.from({ length: 150 }, async (_, n) => {
          // In different turns, so that each has several transactions.
          await new Promise<void>((resolve) => setTimeout(resolve, n % 7));
          const made = entry(n);
          appended[index]?.push(made.id);
          await log.append(made);
        }),
      ),
    );
    const rows = await db.auditEntry.findMany({ orderBy: { sequence: 'asc' } });
    expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 450 }, (_, n) => n + 1));
    for (const ids of appended) expect(rows.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids);
    expect([...settled].sort()).toEqual(appended.flat().sort());
    expect(await verify(db)).toMatchObject({
      isIntact: true,
      checked: 450,
      head: { sequence: 450, hash: rows.at(-1)?.hash },
    });
    // What goes on finds its place by itself.
    await write(db, 3);
    expect(await verify(db)).toMatchObject({ isIntact: true, checked: 453 });
  });

  test('the result of a change is added to an entry UNKNOWN that another process wrote, once', async () => {
    const db = await open();
    const [others, own] = [logOf(db), logOf(db)];
    const [done, other] = [entry(1), entry(2)];
    await others.append({ ...done, result: 'UNKNOWN' });
    await others.append({ ...other, result: 'UNKNOWN' });
    await Promise.all([own.append(done), own.append(entry(3)), own.append({ ...other, result: 'UNKNOWN' })]);
    const rows = await db.auditEntry.findMany({ orderBy: { sequence: 'asc' } });
    const results = rows.map(({ requestId, result }) => `${requestId} ${result}`);
    expect(results.slice(0, 2)).toEqual(['request-1 UNKNOWN', 'request-2 UNKNOWN']);
    expect(results.slice(2).sort()).toEqual(['request-1 DONE', 'request-3 DONE']);
    // As after a lost response.
    await own.append(done);
    expect(await db.auditEntry.count()).toBe(4);
    expect(await problemsOf(db)).toEqual([]);
  });

  describe('tampering with the database shows', () => {
    const tampered = async (work: (db: Database) => Promise<unknown>) => {
      const db = await open();
      await write(db, 12);
      expect((await verify(db)).isIntact).toBe(true);
      await work(db);
      const found = await verify(db);
      expect(found.isIntact).toBe(false);
      // Also when the service goes on.
      await write(db, 2);
      expect((await verify(db)).isIntact).toBe(false);
      return found.problems;
    };
    const at = (sequence: number) => ({ where: { sequence } });

    test('a change of any column', async () => {
      const db = await open();
      await write(db, 2);
      const row = await db.auditEntry.findUniqueOrThrow(at(1));
      for (const [column, value] of Object.entries(row)) {
        if (column === 'sequence') continue;
        const other = value instanceof Date ? new Date(value.getTime() + 1) : `${value ?? ''}x`;
        await db.auditEntry.update({ ...at(1), data: { [column]: other } });
        expect([column, (await verify(db)).isIntact]).toEqual([column, false]);
        await db.auditEntry.update({ ...at(1), data: { [column]: value } });
      }
      expect((await verify(db)).isIntact).toBe(true);
    });

    test('a change with all hashes computed again', async () => {
      const problems = await tampered(async (db) => {
        await db.auditEntry.update({ ...at(5), data: { result: 'REFUSED' } });
        await rewrite(db, 5);
      });
      expect(problems).toEqual([{ sequence: 12, reason: 'the entry is not the newest entry that was written' }]);
    });

    test('an entry that is missing in the middle, at the start, and at the end', async () => {
      expect(await tampered((db) => db.auditEntry.delete(at(5)))).toEqual([
        { sequence: 5, reason: 'the entry 5 is missing' },
      ]);
      expect(await tampered((db) => db.auditEntry.deleteMany({ where: { sequence: { lte: 3 } } }))).toMatchObject([
        { sequence: 1, reason: 'the entries 1 to 3 are missing' },
      ]);
      expect(await tampered((db) => db.auditEntry.deleteMany({ where: { sequence: { gt: 10 } } }))).toEqual([
        { sequence: 11, reason: 'the entries 11 to 12 are missing' },
      ]);
    });

    test('an end that was moved back without the key, or with another one', async () => {
      for (const marks of [null, marksOf(randomBytes(32).toString('base64'))]) {
        const problems = await tampered(async (db) => {
          await db.auditEntry.deleteMany({ where: { sequence: { gt: 10 } } });
          const { hash } = await db.auditEntry.findUniqueOrThrow(at(10));
          const data = marks === null ? { sequence: 10, hash } : marks.of('head', { sequence: 10, hash });
          await db.auditMark.update({ where: { name: 'head' }, data });
        });
        expect(problems.at(-1)?.reason).toContain(
          marks === null ? 'was not signed by this service' : 'another SECRET_KEY',
        );
      }
    });

    test('a start that was moved forward', async () => {
      const problems = await tampered(async (db) => {
        const { hash } = await db.auditEntry.findUniqueOrThrow(at(4));
        const { seal } = await db.auditMark.findUniqueOrThrow({ where: { name: 'head' } });
        await db.auditMark.create({ data: { name: 'start', sequence: 4, hash, seal } });
        await db.auditEntry.deleteMany({ where: { sequence: { lte: 4 } } });
      });
      expect(problems).toMatchObject([
        { sequence: 4, reason: expect.stringContaining('was not signed by this service') },
      ]);
    });

    test('an entry that was inserted after the newest one or instead of another one', async () => {
      const problems = await tampered(async (db) => {
        const { hash, ...last } = await db.auditEntry.findUniqueOrThrow(at(12));
        const more = { ...last, sequence: 13, id: 'aud_forged', previousHash: hash };
        await db.auditEntry.create({ data: { ...more, hash: hashOf(more) } });
      });
      expect(problems).toEqual([{ sequence: 13, reason: 'entries follow the marked newest entry' }]);
      expect(
        await tampered(async (db) => {
          const { hash: _hash, ...row } = await db.auditEntry.findUniqueOrThrow(at(7));
          const forged = { ...row, id: 'aud_forged' };
          await db.auditEntry.update({ ...at(7), data: { ...forged, hash: hashOf(forged) } });
        }),
      ).toMatchObject([{ sequence: 8, reason: expect.stringContaining('does not follow') }]);
    });

    test('entries in another order', async () => {
      const problems = await tampered(async (db) => {
        await db.auditEntry.update({ ...at(5), data: { sequence: 99 } });
        await db.auditEntry.update({ ...at(6), data: { sequence: 5 } });
        await db.auditEntry.update({ ...at(99), data: { sequence: 6 } });
      });
      expect(problems.map(({ sequence }) => sequence)).toEqual(expect.arrayContaining([5, 6]));
    });

    test('marks that were removed', async () => {
      await tampered((db) => db.auditMark.deleteMany());
    });
  });

  test('a hash stored elsewhere shows a rollback of the whole database', async () => {
    const db = await open();
    await write(db, 5);
    const mark = await db.auditMark.findUniqueOrThrow({ where: { name: 'head' } });
    await write(db, 5);
    const { head } = await verify(db);
    expect(await verify(db, head.hash)).toMatchObject({ isIntact: true });
    expect(await verify(db, mark.hash)).toMatchObject({ isIntact: true });
    await db.auditEntry.deleteMany({ where: { sequence: { gt: 5 } } });
    await db.auditMark.update({ where: { name: 'head' }, data: mark });
    expect(await problemsOf(db)).toEqual([]);
    expect(await verify(db, head.hash)).toMatchObject({ isIntact: false, problemCount: 1 });
  });

  test('a process reports a database that was emptied or rolled back while it runs', async () => {
    for (const sequence of [0, 5]) {
      const db = await open();
      const errors: string[] = [];
      const log = pino({ level: 'error' }, { write: (line) => void errors.push(JSON.parse(line).msg) });
      const written = new AuditLog({ db, marks: MARKS, log, onSettled: () => undefined });
      for (let n = 0; n < 5; n += 1) await written.append(entry(n));
      const mark = await db.auditMark.findUniqueOrThrow({ where: { name: 'head' } });
      for (let n = 0; n < 5; n += 1) await written.append(entry(n));
      expect(errors).toEqual([]);
      await db.auditEntry.deleteMany({ where: { sequence: { gt: sequence } } });
      if (sequence === 0) await db.auditMark.deleteMany();
      else await db.auditMark.update({ where: { name: 'head' }, data: mark });
      await written.append(entry(11));
      await written.append(entry(12));
      expect(errors).toEqual([expect.stringContaining('it was rolled back')]);
      expect(await problemsOf(db)).toEqual([
        { sequence: sequence + 1, reason: `the entries ${sequence + 1} to 10 are missing` },
      ]);
    }
  });

  test('a process that continues after a forged entry leaves a visible problem', async () => {
    const db = await open();
    const log = logOf(db);
    await log.append(entry(1));
    const { hash, ...last } = await db.auditEntry.findUniqueOrThrow({ where: { sequence: 1 } });
    const more = { ...last, sequence: 2, id: 'aud_forged', previousHash: hash };
    await db.auditEntry.create({ data: { ...more, hash: hashOf(more) } });
    await log.append(entry(2));
    expect(await db.auditEntry.count()).toBe(3);
    expect(await verify(db)).toMatchObject({ isIntact: false });
  });

  test('old entries go, the others can still be verified, and what was tampered with stays', async () => {
    const db = await open();
    const old = new Date(Date.now() - 40 * DAY_MS);
    await write(db, 1_203, old);
    await write(db, 4);
    const recorded: unknown[] = [];
    const record = async (facts: unknown) => void recorded.push(facts);
    const retention = new AuditRetention({ db, marks: MARKS, log: silentLog, days: 30, record });
    // Two processes at once take nothing twice.
    const removed = await Promise.all([retention.run(), retention.run()]);
    expect(removed[0] + removed[1]).toBe(1_203);
    expect(await verify(db)).toMatchObject({
      isIntact: true,
      checked: 4,
      start: { sequence: 1_203 },
      head: { sequence: 1_207 },
    });
    expect(recorded).toContainEqual(expect.objectContaining({ operation: 'removeOldAuditEvents', result: 'DONE' }));
    expect(await retention.run()).toBe(0);
    await write(db, 3, old);
    const last = new AuditRetention({ db, marks: MARKS, log: silentLog, days: 30, record });
    await db.auditEntry.update({ where: { sequence: 1_205 }, data: { at: old, operation: 'nothing' } });
    await db.auditEntry.update({ where: { sequence: 1_204 }, data: { at: old } });
    expect(await last.run()).toBe(0);
    expect(await verify(db)).toMatchObject({ isIntact: false, checked: 7 });
  });

  test('all entries are read in their order, a page at a time, as far as the reader may', async () => {
    const db = await open();
    const count = 2 * PAGE + 45;
    await write(db, count);
    const [{ head }, turns] = await turnsOf(() => verify(db));
    // Others have their turn between pages.
    expect(turns).toBeGreaterThan(2);
    const sequences: number[] = [];
    let asked = 0;
    for await (const text of auditLines(db, {}, head.sequence, () => (asked += 1))) {
      const lines = text.trimEnd().split('\n');
      expect(lines.length).toBeLessThanOrEqual(PAGE);
      for (const line of lines) {
        const { hash, at, ...row } = JSON.parse(line);
        expect(hashOf({ ...row, at: new Date(at) })).toBe(hash);
        sequences.push(row.sequence);
      }
    }
    expect(sequences).toEqual(Array.from({ length: count }, (_, n) => n + 1));
    expect(asked).toBe(Math.ceil(count / PAGE));
    // However many places are looked at in one go.
    const where = { actorId: 'usr_1' };
    const all = await db.auditEntry.findMany({ where, orderBy: { sequence: 'desc' } });
    const sequencesOf = async (places: AuditPage) =>
      (await findEntries(db, where, places, 50)).map(({ sequence }) => sequence);
    const places = all.map(({ sequence }) => sequence);
    const sequence = places[30] ?? 0;
    const upwards = [{ sequence: 'asc' as const }];
    expect(await sequencesOf({ take: 40 })).toEqual(places.slice(0, 40));
    expect(await sequencesOf({ take: 40, orderBy: upwards })).toEqual(places.slice(-40).reverse());
    expect(await sequencesOf({ take: 40, where: { sequence: { lt: sequence } } })).toEqual(places.slice(31, 71));
    const above = { take: 20, orderBy: upwards, where: { sequence: { gt: sequence } } };
    expect(await sequencesOf(above)).toEqual(places.slice(10, 30).reverse());
    expect(await sequencesOf({ take: 1_000 })).toEqual(places);
    expect(await countEntries(db, where, 50)).toBe(places.length);
    const [, others] = await turnsOf(async () => {
      for await (const _ of auditLines(db, {}, head.sequence));
    });
    expect(others).toBeGreaterThan(2);
    const stopped = auditLines(db, {}, head.sequence, () => {
      if (++asked > 4) throw new Error('ended');
    });
    expect((await stopped.next()).done).toBe(false);
    await expect(stopped.next()).rejects.toThrow('ended');
  });
});

test('any text is hashed as one thing: no two entries have one hash', () => {
  const row = (columns: readonly string[]) => ({
    ...entry(1, new Date(0)),
    id: 'aud_1',
    operation: columns[0] ?? '',
    address: columns[1] ?? '',
    requestId: columns[2] ?? '',
    sequence: 1,
    previousHash: '',
  });
  const columns = fc.array(fc.string({ unit: 'binary' }), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(columns, columns, (one, other) => {
      expect(hashOf(row(one)) === hashOf(row(other))).toBe(one.every((text, i) => text === other[i]));
    }),
  );
});

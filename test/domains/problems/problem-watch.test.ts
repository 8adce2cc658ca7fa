import { pino } from 'pino';
import { expect, test } from 'vitest';
import { BrokerCache } from '../../../src/domains/brokers/broker-cache.ts';
import type { ProblemFact } from '../../../src/domains/problems/model/problem-fact.ts';
import type {
  BrokerSource,
  ProcessPlace,
  ProcessSource,
  ServiceSource,
} from '../../../src/domains/problems/model/problem-source.ts';
import { ProblemWatch } from '../../../src/domains/problems/problem-watch.ts';
import { ProblemCache, type ProblemRecord } from '../../../src/domains/problems/storage/problem-cache.ts';
import { ProblemStore } from '../../../src/domains/problems/storage/problem-store.ts';
import { ProjectCache } from '../../../src/domains/projects/project-cache.ts';
import type { Leases } from '../../../src/platform/storage/leases/leases.ts';
import { errorStatements, statementsOf } from '../../../src/protocol/problems/problem-statements.ts';
import { openTestStorage } from '../../support/database.ts';
import { recordStatements } from '../../support/statements.ts';

const SELF = { host: 'here', folderId: 'one' };
const factOf = (kind: ProblemFact['kind']): ProblemFact => ({
  kind,
  subjectId: null,
  subjectName: 'here',
  statements: errorStatements('x'),
});

/** On PostgreSQL, a lease is held when a connection has it. */
async function heldLease(leases: Leases, name = 'test') {
  const lease = leases.want(name, () => undefined);
  await expect.poll(() => lease.attempt()).toBe(true);
  return lease;
}

test('a source that throws closes nothing and stops no other one, and is logged once until it works again', async () => {
  const { db, changes, leases } = await openTestStorage();
  const lines: { level: number; kinds?: string[] }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const parts = { db, changes, log };
  const [brokers, projects, cache] = [new BrokerCache(parts), new ProjectCache(parts), new ProblemCache(parts)];
  let isBroken = false;
  const fail = () => {
    throw new Error('broken');
  };
  const throwing: ServiceSource = {
    kinds: ['BRIDGE_LOOP'],
    ofService: () => (isBroken ? fail() : [factOf('BRIDGE_LOOP')]),
  };
  const unread: ServiceSource = { kinds: ['DISK_LOW'], refresh: fail, ofService: () => [] };
  const working: ServiceSource = {
    kinds: ['CLIENT_ID_CONFLICT'],
    ofService: () => (isBroken ? [factOf('CLIENT_ID_CONFLICT')] : []),
  };
  const watch = new ProblemWatch({
    ...{ brokers, projects, cache, log },
    sources: { brokers: [], projects: [], process: [], service: [throwing, unread, working] },
    store: new ProblemStore({ db, changes, cache }),
    isMine: () => true,
    lease: await heldLease(leases),
    self: SELF,
    alive: () => null,
    tidy: async () => undefined,
  });
  const open = () => cache.openOfProject(null).map(({ kind }) => kind);
  watch.check();
  expect(open()).toEqual(['BRIDGE_LOOP']);
  isBroken = true;
  for (let count = 0; count < 3; count += 1) watch.check();
  expect(open().sort()).toEqual(['BRIDGE_LOOP', 'CLIENT_ID_CONFLICT']);
  await watch.close();
  await Promise.all([brokers.close(), projects.close(), cache.close()]);
  expect(lines.map(({ level, kinds }) => [level, kinds]).sort()).toEqual([
    [40, ['BRIDGE_LOOP']],
    [40, ['DISK_LOW']],
  ]);
});

test('a broker whose link has changed is checked at once, and the others are not read', async () => {
  const { db, changes, leases } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [brokers, projects, cache] = [new BrokerCache(parts), new ProjectCache(parts), new ProblemCache(parts)];
  await db.project.create({ data: { id: 'prj_1', name: 'plant' } });
  for (const id of ['brk_1', 'brk_2'])
    await db.broker.create({ data: { id, projectId: 'prj_1', name: id, type: 'SELF_HOSTED' } });
  await Promise.all([brokers.load(), projects.load()]);
  const read: string[] = [];
  let refreshes = 0;
  let onRead = () => {};
  const source: BrokerSource = {
    kinds: ['BROKER_UNREACHABLE'],
    refresh: () => {
      refreshes += 1;
    },
    of: ({ id }) => {
      read.push(id);
      onRead();
      return [];
    },
  };
  const watch = new ProblemWatch({
    ...{ brokers, projects, cache, log: parts.log },
    sources: { brokers: [source], projects: [], process: [], service: [] },
    store: new ProblemStore({ db, changes, cache }),
    isMine: () => true,
    lease: leases.want('test', () => undefined),
    self: SELF,
    alive: () => null,
    tidy: async () => undefined,
  });
  watch.start();
  expect([read.splice(0), refreshes]).toEqual([['brk_1', 'brk_2'], 1]);
  const reading = new Promise<void>((resolve) => {
    onRead = resolve;
  });
  for (let changed = 0; changed < 10; changed += 1) watch.checkSoon('brk_2');
  await reading;
  await watch.close();
  await Promise.all([brokers.close(), projects.close(), cache.close()]);
  expect([read, refreshes]).toEqual([['brk_2'], 1]);
});

test('a process leaves the problems of another one on its machine open until that one has gone', async () => {
  const { db, changes, leases } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [brokers, projects, cache] = [new BrokerCache(parts), new ProjectCache(parts), new ProblemCache(parts)];
  const processes = [SELF, { ...SELF, folderId: 'two' }];
  let isFull = true;
  // Of a kind that opens and closes at once.
  const source: ProcessSource = {
    kinds: ['TOKEN_EXPIRING'],
    ofProcess: () => (isFull ? [factOf('TOKEN_EXPIRING')] : []),
  };
  const watchOf = async (self: ProcessPlace, process: readonly ProcessSource[]) =>
    new ProblemWatch({
      ...{ brokers, projects, cache, self, log: parts.log },
      sources: { brokers: [], projects: [], process, service: [] },
      store: new ProblemStore({ db, changes, cache }),
      isMine: () => true,
      lease: await heldLease(leases, self.folderId ?? ''),
      alive: () => processes,
      tidy: async () => undefined,
    });
  const one = await watchOf(SELF, [source]);
  const two = await watchOf({ ...SELF, folderId: 'two' }, [{ ...source, ofProcess: () => [] }]);
  one.check();
  two.check();
  expect(cache.openOfProject(null)).toMatchObject([{ subjectName: 'here' }]);
  isFull = false;
  one.check();
  expect(cache.openOfProject(null)).toEqual([]);
  isFull = true;
  one.check();
  processes.shift();
  two.check();
  expect(cache.openOfProject(null)).toEqual([]);
  await Promise.all([one.close(), two.close()]);
  await Promise.all([brokers.close(), projects.close(), cache.close()]);
});

test('a problem whose broker was deleted while no process found problems is closed afterwards', async () => {
  const { db, changes, leases } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [brokers, projects, cache] = [new BrokerCache(parts), new ProjectCache(parts), new ProblemCache(parts)];
  await db.project.create({ data: { id: 'prj_1', name: 'plant' } });
  const store = new ProblemStore({ db, changes, cache });
  const scope = { projectId: 'prj_1', brokerId: 'brk_gone', brokerName: 'press' };
  // Of a kind that closes at once.
  store.take([{ change: 'OPEN', key: 'one', fact: factOf('TOKEN_EXPIRING'), scope }], new Date());
  await store.flush();
  await projects.load();
  const watch = new ProblemWatch({
    ...{ brokers, projects, cache, store, log: parts.log },
    sources: { brokers: [], projects: [], process: [], service: [] },
    isMine: () => true,
    lease: await heldLease(leases),
    self: SELF,
    alive: () => null,
    tidy: async () => undefined,
  });
  watch.check();
  await watch.close();
  await Promise.all([brokers.close(), projects.close(), cache.close()]);
  const stored = { openKey: null, brokerName: 'press', detail: 'The broker was deleted. Before: x' };
  const states = [{ code: 'BROKER_DELETED' }, { code: 'ERROR', parameters: { error: 'x' } }];
  const rows = await db.problem.findMany();
  expect(rows).toMatchObject([stored]);
  expect(rows.map(statementsOf)).toMatchObject([states]);
  expect(await db.problemChange.count({ where: { change: 'CLOSED' } })).toBe(1);
});

test('what is still wrong is noted by one statement, and only the other processes read it', async () => {
  const { db, changes } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [cache, other] = [new ProblemCache(parts), new ProblemCache(parts)];
  const store = new ProblemStore({ db, changes, cache });
  const scope = { projectId: null, brokerId: null };
  const detailOf = (key: string, at: Date) => `'${key}' at ${at.toISOString()}`;
  const factsAt = (at: Date) =>
    new Map(
      Array.from({ length: 250 }, (_, n) => [
        String(n),
        { ...factOf('BRIDGE_LOOP'), statements: errorStatements(detailOf(String(n), at)) } satisfies ProblemFact,
      ]),
    );
  const opened = [...factsAt(new Date(0))].map(([key, fact]) => ({ change: 'OPEN' as const, key, fact, scope }));
  store.take(opened, new Date());
  const statements = recordStatements(() => true);
  await store.flush();
  await Promise.all([cache.settled(), other.settled()]);
  const reads = () => statements().filter((sql) => sql.startsWith('SELECT') && sql.includes('whatWouldHelp'));
  // Each process reads 100 rows at a time.
  expect([other.openCount, reads().length]).toEqual([250, 6]);

  const at = new Date(Date.now() + 60_000);
  await store.seen(factsAt(at), at);
  await Promise.all([cache.settled(), other.settled()]);

  expect(reads()).toHaveLength(1);
  for (const { key, detail, statements: stated, lastSeenAt, severity } of other.all()) {
    expect([detail, lastSeenAt, severity]).toEqual([detailOf(key, at), at, 'CRITICAL']);
    expect(stated).toBe(JSON.stringify(errorStatements(detail)));
  }
  expect(other.all()).toEqual(cache.all());
  await Promise.all([cache.close(), other.close()]);
});

test('a problem that two processes open is one, also if the process that was first ends before it announces it', async () => {
  const { db, changes } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [cache, other] = [new ProblemCache(parts), new ProblemCache(parts)];
  const [store, later] = [new ProblemStore({ db, changes, cache }), new ProblemStore({ db, changes, cache: other })];
  const scope = { projectId: null, brokerId: null };
  const opening = (key: string) => ({ change: 'OPEN' as const, key, fact: factOf('BRIDGE_LOOP'), scope });
  store.take([opening('a'), opening('b')], new Date());
  later.take([opening('a'), opening('b'), opening('c')], new Date());
  for (const one of [store, later]) await one.flush();
  await Promise.all([cache.settled(), other.settled()]);
  const idsOf = (from: ProblemCache) => from.all().map(({ id }) => id);
  expect([idsOf(other), other.openCount]).toEqual([idsOf(cache), 3]);

  const closing = [{ change: 'CLOSE' as const, key: 'a', scope }];
  store.take(closing, new Date());
  later.take(closing, new Date());
  for (const one of [store, later]) await one.flush();
  await Promise.all([cache.settled(), other.settled()]);
  const ofA = { problem: { key: 'a' } };
  const changesOfA = await db.problemChange.findMany({ where: ofA, orderBy: { sequence: 'asc' } });
  expect([changesOfA.map(({ change }) => change), other.openCount]).toEqual([['OPENED', 'CLOSED'], 2]);

  const killed = { ...other.all()[1], id: 'prb_killed', key: 'd', openKey: 'd' } as ProblemRecord;
  await db.problem.create({ data: killed });
  later.take([opening('d'), { change: 'CLOSE', key: 'd', scope }], new Date());
  await later.flush();
  await other.settled();
  expect([other.openWithKey('d'), other.openCount]).toEqual([killed, 3]);
  later.take([{ change: 'CLOSE', key: 'd', scope }], new Date());
  await later.flush();
  expect(await db.problem.count({ where: { openKey: 'd' } })).toBe(0);
  await Promise.all([cache.close(), other.close()]);
});

test('a fact that is seen again does not open a problem that has closed, in the same process or in another one', async () => {
  const { db, changes } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [cache, other] = [new ProblemCache(parts), new ProblemCache(parts)];
  const [store, later] = [new ProblemStore({ db, changes, cache }), new ProblemStore({ db, changes, cache: other })];
  const scope = { projectId: null, brokerId: null };
  const fact: ProblemFact = { ...factOf('CERTIFICATE_EXPIRING'), severity: 'WARNING' };
  // It is also more severe, which is a change of an open problem.
  const repeat = { change: 'REPEAT', key: 'a', fact: { ...fact, severity: 'CRITICAL' }, times: 1, scope } as const;
  const closing = { change: 'CLOSE', key: 'a', scope } as const;
  store.take([{ change: 'OPEN', key: 'a', fact, scope }], new Date());
  await store.flush();
  await Promise.all([cache.settled(), other.settled()]);
  expect(other.openCount).toBe(1);
  store.take([closing, repeat], new Date());
  // The other process does not know yet that it has closed.
  later.take([repeat], new Date());
  await store.flush();
  await later.flush();
  await Promise.all([cache.settled(), other.settled()]);
  store.take([repeat], new Date());
  await store.flush();
  const written = await db.problemChange.findMany({ orderBy: { sequence: 'asc' } });
  expect(written.map(({ change, severity }) => `${change} ${severity}`)).toEqual(['OPENED WARNING', 'CLOSED WARNING']);
  expect(await db.problem.findMany()).toMatchObject([{ openKey: null, severity: 'WARNING', count: 1 }]);
  expect([cache.openCount, other.openCount]).toEqual([0, 0]);
  await Promise.all([cache.close(), other.close()]);
});

test('a problem that becomes more severe is a change, and one that becomes less severe is none', async () => {
  const { db, changes, leases } = await openTestStorage();
  const parts = { db, changes, log: pino({ level: 'silent' }) };
  const [brokers, projects, cache] = [new BrokerCache(parts), new ProjectCache(parts), new ProblemCache(parts)];
  let fact: ProblemFact = { ...factOf('CERTIFICATE_EXPIRING'), severity: 'WARNING' };
  const source: ProcessSource = { kinds: ['CERTIFICATE_EXPIRING'], ofProcess: () => [fact] };
  const lease = leases.want('test', () => undefined);
  const watch = new ProblemWatch({
    ...{ brokers, projects, cache, lease, self: SELF, log: parts.log },
    sources: { brokers: [], projects: [], process: [source], service: [] },
    store: new ProblemStore({ db, changes, cache }),
    isMine: () => true,
    alive: () => null,
    tidy: async () => undefined,
  });
  watch.check();
  for (const severity of ['CRITICAL', 'CRITICAL', 'WARNING'] as const) {
    fact = { ...fact, severity };
    watch.check();
    expect(cache.all()).toMatchObject([{ severity, count: 1 }]);
  }
  await watch.close();
  const written = await db.problemChange.findMany({ orderBy: { sequence: 'asc' } });
  expect(written.map(({ change, severity }) => `${change} ${severity}`)).toEqual(['OPENED WARNING', 'OPENED CRITICAL']);
  await expect(db.problem.findFirst()).resolves.toMatchObject({ severity: 'WARNING', count: 1 });
  await Promise.all([brokers.close(), projects.close(), cache.close()]);
});

test('the subject of a problem has its present name', async () => {
  const { db, changes } = await openTestStorage();
  const cache = new ProblemCache({ db, changes, log: pino({ level: 'silent' }) });
  const store = new ProblemStore({ db, changes, cache });
  const scope = { projectId: null, brokerId: null };
  const named = (subjectName: string): ProblemFact => ({ ...factOf('BRIDGE_LOOP'), subjectId: 'brk_1', subjectName });
  const opening = (name: string) => ({ change: 'OPEN' as const, key: 'a', fact: named(name), scope });
  store.take([opening('one')], new Date());
  await store.flush();
  await store.seen(new Map([['a', named('two')]]), new Date());
  await expect(db.problem.findFirst()).resolves.toMatchObject({ subjectName: 'two' });
  store.take([{ change: 'CLOSE', key: 'a', scope }, opening('three')], new Date());
  await store.flush();
  expect(await db.problem.findMany()).toMatchObject([{ subjectName: 'three', count: 2 }]);
  expect(cache.all()).toMatchObject([{ subjectName: 'three' }]);
  await cache.close();
});

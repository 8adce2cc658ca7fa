import { hostname } from 'node:os';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { processesSource } from '../../../src/domains/problems/sources/process-sources.ts';
import { BUILD } from '../../../src/platform/build.ts';
import { newId } from '../../../src/platform/ids.ts';
import { ProcessTable } from '../../../src/protocol/hosting/placement/process-table.ts';
import { openTestStorage } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { endLeaseSessions } from '../../support/postgres-client.ts';
import { startRelay } from '../../support/relay.ts';
import { sharedDatabase, startTestService } from '../../support/service.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { subscribe } from '../../support/subscription.ts';
import { closedAfter, openedAfter, problemsOf, SLOW } from './problem-world.ts';

const OF_PROCESSES = 'subscription { serviceProblems { kind problems { id kind closedAt } } }';
const PROCESSES = 'query { processes { processId isSelf } }';
const OF_SERVICE = { subjectName: hostname(), project: null, broker: null, subject: null };

const postgres = usePostgres();

async function openTable(databaseUrl: string) {
  const { db, changes, leases } = await openTestStorage({ databaseUrl });
  const about = { ...BUILD, host: hostname(), role: 'ALL', folderId: newId('process') } as const;
  const load = () => ({ brokers: 0, messagesPerSecond: 0 });
  const log = pino({ level: 'silent' });
  const table = new ProcessTable({ db, changes, leases, log, ...about, engines: () => [], load });
  await table.open();
  onTestFinished(() => table.close());
  return table;
}

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('a process that is killed is a problem until it is started again', async () => {
    const env = { SECRET_KEY: '5e'.repeat(32), DATABASE_URL: await sharedDatabase(postgres) };
    // The first process holds all leases.
    const other = await startServiceProcess(env);
    const service = await startTestService({ env });
    const { data } = await service.graphql(PROCESSES);
    const { processId } = data.processes.find(({ isSelf }: { isSelf: boolean }) => !isSelf);
    const live = subscribe(service, service.root, OF_PROCESSES);
    await live.until(({ serviceProblems }) => serviceProblems.kind === 'SNAPSHOT');
    await other.kill();
    const killedAt = Date.now();
    const gone = await openedAfter(service, 'PROCESS_AWAY', { causedAt: killedAt });
    expect(gone).toMatchObject({ ...OF_SERVICE, detail: expect.stringContaining(processId) });
    await live.until(({ serviceProblems: { problems } }) => problems[0]?.id === gone.id);
    await other.start();
    await closedAfter(service, 'PROCESS_AWAY', Date.now());
    await live.until(({ serviceProblems: { problems } }) => problems[0]?.closedAt != null);
  });

  test('processes that come back after an outage of the database are not away', async () => {
    const databaseUrl = await postgres.createDatabase();
    const table = await openTable(databaseUrl);
    await openTable(databaseUrl);
    const list = async () => (await table.list()).map((row) => ({ ...row, isSelf: row.id === table.id }));
    const sourceNow = () => processesSource({ list, isCalm: () => table.isCalm });
    const source = sourceNow();
    await source.refresh?.();
    expect([source.ofService(), source.alive()]).toMatchObject([[], [{}, {}]]);

    await endLeaseSessions(databaseUrl);
    // Each reads the list for the first time.
    const during: unknown[] = [];
    await expect
      .poll(async () => {
        const reading = sourceNow();
        await reading.refresh?.();
        const { isCalm } = table;
        if (!isCalm) during.push(reading.ofService(), reading.alive());
        return during.length > 0 && isCalm;
      }, SLOW)
      .toBe(true);
    expect(during.filter((found) => found !== null)).toEqual([]);
    const after = sourceNow();
    await after.refresh?.();
    expect([after.ofService(), after.alive()]).toMatchObject([[], [{}, {}]]);
  });

  test('a database that is slow, and one that is away, are problems that are stored when it responds again', async () => {
    const databaseUrl = new URL(await sharedDatabase(postgres));
    const port = Number(databaseUrl.port);
    let delayMs = 0;
    const relay = await startRelay(port, { delayMs: () => delayMs });
    databaseUrl.port = new URL(relay.url).port;
    const service = await startTestService({ env: { DATABASE_URL: databaseUrl.href } });
    expect(await problemsOf(service, {})).toEqual([]);

    delayMs = 900;
    const slowAt = Date.now();
    const slow = await openedAfter(service, 'DATABASE_SLOW', { causedAt: slowAt });
    expect(slow).toMatchObject({ ...OF_SERVICE, severity: 'WARNING' });
    delayMs = 0;
    await closedAfter(service, 'DATABASE_SLOW', Date.now());

    relay.stop();
    const awayAt = Date.now();
    // Other requests need the database.
    const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
    await expect.poll(metrics, SLOW).toContain('brokergraph_problems{kind="DATABASE_AWAY",severity="CRITICAL"} 1');
    await startRelay(port, { at: Number(databaseUrl.port) });
    const repairedAt = Date.now();
    await expect
      .poll(async () => (await service.graphql('{ problemCounts { critical } }')).errors, SLOW)
      .toBeUndefined();
    const away = await openedAfter(service, 'DATABASE_AWAY', { causedAt: awayAt, isOpen: null });
    expect(away).toMatchObject({ ...OF_SERVICE, severity: 'CRITICAL' });
    await closedAfter(service, 'DATABASE_AWAY', repairedAt);
    const isClosed = { id: { in: [slow.id, away.id] }, closedAt: { not: null } };
    await expect.poll(() => service.storage.db.problem.count({ where: isClosed })).toBe(2);
  });
});

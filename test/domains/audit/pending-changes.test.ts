import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { UnchainedEntry } from '../../../src/domains/audit/audit-chain.ts';
import { PendingChanges } from '../../../src/domains/audit/pending-changes.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { openTestStorage, silentLog, temporaryFolder } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import type { TestService } from '../../support/service.ts';
import { startTestServices } from '../../support/services.ts';
import { eventsOf } from './audited-service.ts';

const postgres = usePostgres();

const entry = (id: string): UnchainedEntry => ({
  id,
  at: new Date(0),
  actorKind: 'USER',
  actorId: 'usr_1',
  actorName: null,
  actorIssuer: null,
  address: '::1',
  requestId: '',
  via: 'GRAPHQL',
  operation: 'updateProject',
  projectId: null,
  brokerId: null,
  targetKind: null,
  targetId: null,
  before: null,
  after: '{"name":"\\u0000"}',
  result: 'UNKNOWN',
  code: null,
});

describe.skipIf(!postgres.available)(`on PostgreSQL ${postgres.available ? '' : `(${UNAVAILABLE})`}`, () => {
  let databaseUrl = '';
  beforeEach(async () => {
    databaseUrl = await postgres.createDatabase();
  });

  /** A process with its own connections, and the entries that it appended for others. */
  async function openProcess(): Promise<{ storage: Storage; pending: PendingChanges; appended: UnchainedEntry[] }> {
    const storage = await openTestStorage({ databaseUrl });
    const { db, leases } = storage;
    const appended: UnchainedEntry[] = [];
    const append = async (entries: readonly UnchainedEntry[]) => {
      appended.push(...entries);
      await db.pendingChange.deleteMany({ where: { id: { in: entries.map(({ id }) => id) } } });
    };
    const secretKey = '5e'.repeat(32);
    const sealer = openSealer({ dataDir: temporaryFolder(), secretKey });
    const pending = new PendingChanges({ db, leases, sealer, append, log: silentLog });
    onTestFinished(() => pending.close());
    return { storage, pending, appended };
  }

  test('changes of a process that is gone are recorded once, those of a running one and forged ones are not', async () => {
    const [one, two, three] = [await openProcess(), await openProcess(), await openProcess()];
    await one.pending.begin(entry('aud_1'));
    await one.pending.begin(entry('aud_2'));
    await two.pending.sweep(0);
    expect(two.appended).toEqual([]);
    const { db } = two.storage;
    const { processId } = await db.pendingChange.findUniqueOrThrow({ where: { id: 'aud_1' } });
    const forged = JSON.stringify({ ...entry('aud_3'), result: 'DONE' });
    const row = await db.pendingChange.findUniqueOrThrow({ where: { id: 'aud_2' } });
    await db.pendingChange.create({ data: { ...row, id: 'aud_3', processId, entry: forged } });
    await one.storage.close();
    // Not old enough.
    await two.pending.sweep(3_600_000);
    expect(two.appended).toEqual([]);
    const recorded = () => [...two.appended, ...three.appended];
    await expect
      .poll(async () => {
        await Promise.all([two.pending.sweep(0), three.pending.sweep(0)]);
        return recorded().map(({ id }) => id);
      })
      .toEqual(['aud_1', 'aud_2']);
    expect(recorded()).toEqual([entry('aud_1'), entry('aud_2')]);
    expect(await db.pendingChange.findMany({ select: { id: true } })).toEqual([{ id: 'aud_3' }]);
  });

  test('the row of a change is there while it runs, and deleted with its entry', async () => {
    const [service] = (await startTestServices(postgres, 1)) as [TestService];
    const { db } = service.storage;
    const update =
      'mutation ($id: ID!, $n: String!) { updateProject(input: { projectId: $id, name: $n }) { project { id } } }';
    let during: unknown[] = [];
    const { projects } = service.services;
    const run = projects.update.bind(projects);
    projects.update = async (...args) => {
      during = await db.pendingChange.findMany();
      return run(...args);
    };
    await service.graphql(update, { id: service.projectId, n: 'renamed' });
    const [event] = await eventsOf(service, { operation: 'updateProject' });
    expect(during).toMatchObject([{ id: event?.id, entry: expect.stringContaining('"result":"UNKNOWN"') }]);
    expect(event?.result).toBe('DONE');
    // Refused ones beyond the first 20 have no entry of their own, and leave no row.
    for (let n = 0; n < 25; n += 1) await service.graphql(update, { id: service.projectId, n: '' });
    expect(await db.pendingChange.count()).toBe(0);
  });
});

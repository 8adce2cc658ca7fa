import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { Changes } from '../../../src/platform/storage/changes/changes.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { newDatabaseUrl, openTestStorage, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';

/** Records the notifications of a kind, and waits for them. */
function record(changes: Changes, kind: string) {
  const told: string[] = [];
  const waiting = new Set<() => void>();
  const stop = changes.on(kind, (id) => {
    told.push(id);
    for (const wake of waiting) wake();
  });
  const until = (id: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!told.includes(id)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { told, until, stop };
}

describeEngines((engine, postgres) => {
  const open = async () => {
    const databaseUrl = await newDatabaseUrl(engine, postgres);
    return { databaseUrl, ...(await openTestStorage({ databaseUrl })) };
  };

  test('listeners of the kind in this process are called before announce returns', async () => {
    const { changes } = await open();
    const project = record(changes, 'project');
    const user = record(changes, 'user');
    const announced = changes.announce('project', 'prj_1');
    expect([project.told, user.told]).toEqual([['prj_1'], []]);
    await announced;
  });

  test('stopped listeners, and all listeners after close, are not called', async () => {
    const { changes } = await open();
    const stopped = record(changes, 'project');
    const closed = record(changes, 'project');
    stopped.stop();
    stopped.stop();
    await changes.announce('project', 'prj_1');
    await changes.close();
    await changes.close();
    await changes.announce('project', 'prj_2');
    expect([stopped.told, closed.told]).toEqual([[], ['prj_1']]);
  });

  if (engine !== 'postgresql') return;

  test('other processes on the database are notified, and own announcements are ignored', async () => {
    const { databaseUrl, changes: here } = await open();
    const { changes: there } = await openTestStorage({ databaseUrl });
    const own = record(here, 'project');
    const others = record(there, 'project');

    await here.announce('project', 'prj_1');
    await others.until('prj_1');
    // Comes back after anything of the first would have.
    await there.announce('project', 'prj_2');
    await own.until('prj_2');

    expect(own.told).toEqual(['prj_1', 'prj_2']);
    expect(others.told).toEqual(['prj_1', 'prj_2']);
  });

  test("an id that is too long is announced as '*'", async () => {
    const { databaseUrl, changes: here } = await open();
    const { changes: there } = await openTestStorage({ databaseUrl });
    const others = record(there, 'project');
    await here.announce('project', 'x'.repeat(10_000));
    await others.until('*');
  });

  test("after a reconnect this process and the others receive '*'", async () => {
    const { databaseUrl, changes: here } = await open();
    const { changes: there } = await openTestStorage({ databaseUrl });
    const own = record(here, 'project');
    const others = record(there, 'project');
    await endListeners(databaseUrl);
    // These must arrive, whether or not the connection is open again.
    await here.announce('project', 'prj_1');
    await Promise.all([own.until('*'), others.until('*')]);

    await here.announce('project', 'prj_2');
    await others.until('prj_2');
  });

  test('forged and repeated notifications make a process read everything again once, however many they are', async () => {
    const { databaseUrl, changes: here } = await open();
    const { changes: there } = await openTestStorage({ databaseUrl });
    const sealer = openSealer({ dataDir: temporaryFolder(), secretKey: '5e'.repeat(32) });
    for (const changes of [here, there]) changes.signWith?.(sealer);
    const seen: string[] = [];
    const spy = new pg.Client({ connectionString: databaseUrl });
    await spy.connect();
    onTestFinished(() => spy.end());
    spy.on('notification', ({ payload = '' }) => void seen.push(payload));
    await spy.query('LISTEN brokergraph_changes');
    const project = record(here, 'project');
    await there.announce('project', 'prj_1');
    await project.until('prj_1');
    await expect.poll(() => seen.length).toBe(1);

    const stranger = { origin: 'x', number: 1_000_000, mark: sealer.sign('something else', 'change') };
    const forged = ['*', 'prj_2'].flatMap((id) => [
      JSON.stringify({ ...stranger, kind: '*', id }),
      JSON.stringify({ ...stranger, kind: 'project', id }),
      JSON.stringify({ ...JSON.parse(seen[0] ?? ''), number: 1_000_000, id }),
    ]);
    for (let times = 0; times < 20; times++)
      for (const payload of [...forged, seen[0] ?? ''])
        await spy.query('SELECT pg_notify($1, $2)', ['brokergraph_changes', payload]);
    await there.announce('project', 'prj_3');
    await project.until('prj_3');
    expect(project.told).toEqual(['prj_1', '*', 'prj_3']);
  });

  test('notifications of other programs are ignored', async () => {
    const { databaseUrl, changes } = await open();
    const { changes: there } = await openTestStorage({ databaseUrl });
    const project = record(changes, 'project');
    for (const payload of ['', 'no JSON', 'null', '[]', '{"kind":1}']) {
      await onServer(databaseUrl, `NOTIFY brokergraph_changes, '${payload}'`);
    }
    await there.announce('project', 'prj_1');
    await project.until('prj_1');
    expect(project.told).toEqual(['prj_1']);
  });
});

/** As a server does that restarts. */
async function endListeners(databaseUrl: string | undefined): Promise<void> {
  await onServer(
    databaseUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'brokergraph changes'`,
  );
}

async function onServer(databaseUrl: string | undefined, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

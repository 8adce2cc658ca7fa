import { execFileSync } from 'node:child_process';
import { realpathSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeRefusal } from '../../src/app/node-version.ts';
import { bundlePrograms } from './bundled-programs.ts';
import { folderInMemory } from './folder-in-memory.ts';
import { hasPgbouncer } from './pgbouncer-program.ts';
import { findPostgresPrograms, startCluster } from './postgres.ts';

/**
 * Runs once before all tests. It builds the product, because some tests run it as a process, and bundles the worker
 * threads and the programs of the tests. It creates a folder in memory for temporary files. If TEST_POSTGRES is
 * `shared` or TEST_ENGINE is `postgresql`, it also starts one PostgreSQL server, in which each test creates its own
 * databases. Otherwise each file that needs PostgreSQL starts a server, which takes longer than its tests. TEST_POOLER
 * is `session`: the databases of TEST_ENGINE=postgresql are behind a PgBouncer (pooled-database.ts).
 * MOSQUITTO_BINARY selects the Mosquitto of all tests.
 */
export async function setup(): Promise<() => Promise<void>> {
  const refusal = nodeRefusal(process.versions.node);
  if (refusal !== null) throw new Error(refusal);
  if (process.env.SKIP_BUILD !== 'on') {
    const build = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));
    execFileSync(process.execPath, [build], { stdio: 'inherit' });
    process.env.SKIP_BUILD = 'on';
  }
  const ends: (() => void | Promise<void>)[] = [];
  // Vitest calls `setup` for each project of vitest.config.ts, one after the other.
  if (process.env.TEST_PROGRAMS === undefined) {
    const { MOSQUITTO_BINARY } = process.env;
    if (MOSQUITTO_BINARY !== undefined) process.env.PATH = pathWith(MOSQUITTO_BINARY);
    const programs = await bundlePrograms();
    process.env.TEST_PROGRAMS = programs.folder;
    ends.push(programs.remove);
    const folder = folderInMemory();
    if (folder !== null) {
      process.env.TMPDIR = folder;
      // A Chromium that ends with its test process may still write.
      ends.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
    }
  }
  const { TEST_ENGINE, TEST_POSTGRES, TEST_POSTGRES_URL } = process.env;
  const isWanted = TEST_ENGINE === 'postgresql' || (TEST_POSTGRES === 'shared' && findPostgresPrograms() !== null);
  if (isWanted && !TEST_POSTGRES_URL) {
    const cluster = await startCluster();
    process.env.TEST_POSTGRES_URL = cluster.url;
    ends.push(() => cluster.stop());
  }
  const { TEST_POOLER, TEST_ON_POSTGRESQL, TEST_POSTGRES_URL: server, TEST_POOLER_URL } = process.env;
  const isPooled = TEST_POOLER === 'session' || (TEST_ON_POSTGRESQL === 'on' && hasPgbouncer);
  if (isPooled && server && !TEST_POOLER_URL) {
    const { openPgbouncer } = await import('./pgbouncer.ts');
    const pooler = await openPgbouncer(server, 'session', POOLER);
    process.env.TEST_POOLER_URL = pooler.url;
    ends.unshift(pooler.close);
  }
  return async () => {
    for (const end of ends) await end();
  };
}

/** Sessions are used again, but not kept for the databases of earlier tests. */
const POOLER = { default_pool_size: 100, max_client_conn: 1_000, server_idle_timeout: 3 };

/** PATH with the folders of a Mosquitto and of its other programs first. Errors: there is no such file. */
function pathWith(mosquitto: string): string {
  const folder = dirname(realpathSync(mosquitto));
  return [folder, join(folder, '../bin'), process.env.PATH].join(delimiter);
}

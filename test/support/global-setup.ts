import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkers } from './bundled-workers.ts';
import { folderInMemory } from './folder-in-memory.ts';
import { startCluster } from './postgres.ts';

/**
 * Once per run: compiled code, because worker threads and child processes run that, and its workers as single files; a folder in memory for
 * temporary files; with TEST_ENGINE=postgresql a PostgreSQL server, so that every test's database is one of its own there.
 */
export async function setup(): Promise<() => Promise<void>> {
  if (process.env.SKIP_BUILD !== 'on') {
    const build = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));
    execFileSync(process.execPath, [build], { stdio: 'inherit' });
    process.env.SKIP_BUILD = 'on';
  }
  const ends: (() => void | Promise<void>)[] = [];
  // Each project of vitest.config.ts calls this, one after the other.
  if (process.env.TEST_WORKERS === undefined) {
    const workers = await bundleWorkers();
    process.env.TEST_WORKERS = workers.folder;
    ends.push(workers.remove);
    const folder = folderInMemory();
    if (folder !== null) {
      process.env.TMPDIR = folder;
      ends.push(() => rmSync(folder, { recursive: true, force: true }));
    }
  }
  if (process.env.TEST_ENGINE === 'postgresql' && !process.env.TEST_POSTGRES_URL) {
    const cluster = await startCluster();
    process.env.TEST_POSTGRES_URL = cluster.url;
    ends.push(() => cluster.stop());
  }
  return async () => {
    for (const end of ends) await end();
  };
}

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { openTestStorage, temporaryFolder } from '../../support/database.ts';
import { PROCESS_ENV } from '../../support/process-env.ts';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const COUNT = 5_000;
const sealerOf = (secretKey: string) => openSealer({ dataDir: '/nowhere', secretKey });

test('a rotation that is killed in the middle is continued by the next one, and every secret opens', async () => {
  const [before, after] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const dataDir = temporaryFolder();
  const storage = await openTestStorage({ dataDir, databaseUrl: undefined });
  const sealer = sealerOf(before);
  const rows = Array.from({ length: COUNT }, (_, i) => ({
    id: `cal_${i}`,
    brokerId: 'brk_1',
    api: 'inspect',
    command: sealer.seal(`command ${i}`, `cal_${i}/command`),
  }));
  await storage.db.hostedCall.createMany({ data: rows });
  await storage.close();
  const rotate = () => {
    const env = { ...PROCESS_ENV, DATA_DIR: dataDir, SECRET_KEY: after, SECRET_KEY_PREVIOUS: before };
    const child = spawn(process.execPath, [MAIN, 'secrets', 'rotate', '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    return { child, done: once(child, 'close').then(([code]) => ({ code, out })) };
  };
  const database = new Sqlite(join(dataDir, 'brokergraph.db'), { readonly: true });
  onTestFinished(() => void database.close());
  const prefix = `${sealerOf(after).seal('', '').split('.').slice(0, 2).join('.')}.%`;
  const counted = database.prepare('SELECT count(*) AS count FROM "HostedCall" WHERE "command" LIKE ?').pluck();
  const resealed = () => Number(counted.get(prefix));

  const killed = rotate();
  await expect.poll(resealed, { interval: 5 }).toBeGreaterThan(0);
  killed.child.kill('SIGKILL');
  await killed.done;
  const done = resealed();
  expect(done).toBeLessThan(COUNT);

  const { code, out } = await rotate().done;

  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    resealed: COUNT - done,
    discarded: 0,
    unreadable: [],
    unreadableCount: 0,
    removable: 'SECRET_KEY_PREVIOUS',
  });
  const opening = sealerOf(after);
  const all = database.prepare('SELECT "id", "command" FROM "HostedCall"').all() as { id: string; command: string }[];
  expect(
    all.filter(({ id, command }) => opening.open(command, `${id}/command`) !== id.replace('cal_', 'command ')),
  ).toEqual([]);
});

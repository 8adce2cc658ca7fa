import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { copyBelow, filesBelow } from '../../../src/app/backup/data-files.ts';
import { copyFileInUse } from '../../../src/app/backup/snapshot.ts';
import { temporaryFolder } from '../../support/database.ts';

const COPIES = 30;

/** A process that writes to a file of 10 MB all the time. `last`: its last transaction that was committed. */
function startTransfers(file: string) {
  const script = fileURLToPath(new URL('./transfers-process.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  let last = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = Number(line);
  });
  return { last: () => last };
}

test('copies of a file that a process writes to all the time have all that was committed before, and nothing in part', async () => {
  const [from, to] = [join(temporaryFolder(), 'from.db'), join(temporaryFolder(), 'to.db')];
  const { last } = startTransfers(from);
  for (let copy = 0; copy < COPIES; copy++) {
    const earlier = last();
    await expect.poll(last, { timeout: 60_000, interval: 10 }).toBeGreaterThan(earlier);
    const before = last();
    copyFileInUse(from, to);
    const db = new Sqlite(to);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(db.prepare('SELECT sum(amount) FROM account').pluck().get()).toBe(0);
    expect(db.prepare('SELECT value FROM number').pluck().get()).toBeGreaterThanOrEqual(before);
    db.close();
  }
});

test('an open SQLite file is copied with its log, and a shorter second copy replaces a longer one', () => {
  const folder = temporaryFolder();
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  const db = new Sqlite(from);
  onTestFinished(() => void db.close());
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2)');
  const numbers = () => {
    const copy = new Sqlite(to);
    try {
      expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
      return copy.prepare('SELECT n FROM t').pluck().all();
    } finally {
      copy.close();
    }
  };
  copyFileInUse(from, to);
  expect(numbers()).toEqual([1, 2]);
  writeFileSync(to, Buffer.alloc(1_000_000, 1));
  writeFileSync(`${to}-wal`, Buffer.alloc(1_000_000, 1));
  db.exec('DELETE FROM t WHERE n = 1');
  copyFileInUse(from, to);
  expect(numbers()).toEqual([2]);
});

test('other files are copied as they are; those of a process are not, and a file that is gone is left out', () => {
  const folder = temporaryFolder();
  for (const name of ['brokers', 'lost+found']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'lost+found', 'other'), '');
  for (const name of ['secret.key', 'lock', 'lock.owner', 'x.db-wal', 'brokers/mosquitto.pid', 'brokers/password']) {
    writeFileSync(join(folder, name), name);
  }
  expect(filesBelow(folder)).toEqual(['brokers/password', 'secret.key']);
  const to = join(temporaryFolder(), 'to');
  for (const path of ['brokers/password', 'brokers/gone']) copyBelow(folder, to, path);
  expect(readFileSync(join(to, 'brokers/password'), 'utf8')).toBe('brokers/password');
  expect(existsSync(join(to, 'brokers/gone'))).toBe(false);
});

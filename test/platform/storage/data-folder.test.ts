import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openDataFolder } from '../../../src/platform/storage/folder/data-folder.ts';
import { silentLog, temporaryFolder } from '../../support/database.ts';
import { programUrl } from '../../support/programs.ts';

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

/** A log whose lines are collected. */
function recordedLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { lines, log };
}

function existingFolder(mode: number): string {
  const path = join(temporaryFolder(), 'data');
  mkdirSync(path);
  for (const name of ['lock', 'lock-journal', 'lock.owner']) {
    writeFileSync(join(path, name), '');
    chmodSync(join(path, name), 0o644);
  }
  chmodSync(path, mode);
  return path;
}

test('an existing data folder that others may read gets mode 0700 and its lock files 0600, with a line in the log', () => {
  const path = existingFolder(0o755);
  const { lines, log } = recordedLog();

  const folder = openDataFolder(path, log);
  onTestFinished(folder.close);

  expect(modeOf(path)).toBe('700');
  expect(['lock', 'lock-journal', 'lock.owner'].map((name) => modeOf(join(path, name)))).toEqual(Array(3).fill('600'));
  expect(lines).toEqual([expect.objectContaining({ level: 40, path, found: '0755', mode: '0700' })]);
});

test('a private or new folder is not logged', () => {
  const { lines, log } = recordedLog();
  for (const path of [existingFolder(0o700), join(temporaryFolder(), 'new')]) {
    openDataFolder(path, log).close();
    expect(modeOf(path)).toBe('700');
    expect(modeOf(join(path, 'lock'))).toBe('600');
  }
  expect(lines).toEqual([]);
});

test('the files of a lock are created with mode 0600', () => {
  const path = temporaryFolder();
  const folder = openDataFolder(path, silentLog);
  onTestFinished(folder.close);
  for (const name of ['lock', 'lock.owner']) expect(modeOf(join(path, name))).toBe('600');
});

test.runIf(process.getuid?.() === 0)(
  'a folder of another user that the service may write keeps its mode, is used, and is warned of',
  () => {
    const [anybody, path] = [65_534, temporaryFolder()];
    chownSync(path, 0, anybody);
    chmodSync(path, 0o770);
    const script = fileURLToPath(programUrl('test/platform/storage/data-folder-process.mjs'));

    const said = execFileSync(process.execPath, [script, path], {
      uid: anybody,
      gid: anybody,
      encoding: 'utf8',
    });

    expect(
      said
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([{ path, found: '0770', mode: '0770' }]);
    expect(modeOf(path)).toBe('770');
    expect(modeOf(join(path, 'lock'))).toBe('600');
  },
);

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './support/database.ts';
import { nodeOf } from './support/node.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** All programs that `npm start` needs, with those for BUILD_CACHE. Neither a compiler nor Python is among them. */
const PROGRAMS = ['npm', 'sh', 'env', 'cp'];
/** Milliseconds. The packages are installed, and npm is slow on a busy machine. */
const TIMEOUT = 600_000;

/** Copies the files of the next commit. */
function checkout(): string {
  const folder = join(temporaryFolder(), 'brokergraph');
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const deleted = execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const path of execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0')) {
    if (path === '' || deleted.includes(path)) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path));
  }
  return folder;
}

/** A folder for PATH with a Node 20, and with the programs above. */
function onlyOldNode(): string {
  const folder = temporaryFolder();
  symlinkSync(nodeOf('20'), join(folder, 'node'));
  for (const name of PROGRAMS) {
    symlinkSync(realpathSync(execFileSync('which', [name], { encoding: 'utf8' }).trim()), join(folder, name));
  }
  return folder;
}

test('`npm start` in a new checkout on Node 20 and without a compiler says so, and starts the service on Node 24', {
  timeout: TIMEOUT,
}, async () => {
  const cwd = checkout();
  const env = { ...process.env, PATH: onlyOldNode(), PORT: '0', MQTT_PORT: '0', MQTT_WS_PORT: '0', LOG_FORMAT: 'json' };
  // A process group, so that a failed test leaves no process behind.
  const npm = spawn('npm', ['start'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => {
    if (npm.pid !== undefined && npm.exitCode === null) process.kill(-npm.pid, 'SIGKILL');
  });
  const errors = text(npm.stderr);
  const ended = once(npm, 'close');
  let output = '';
  for await (const chunk of npm.stdout) {
    output += chunk;
    const url = /"url":"([^"]+).*\n/.exec(output)?.[1];
    if (url === undefined) continue;
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    break;
  }
  npm.kill('SIGTERM');
  await ended;
  const said = (await errors).split('\n');
  expect(output, said.join('\n')).toContain('Brokergraph is ready');
  expect(said.filter((line) => line.includes('too old'))).toEqual([
    expect.stringMatching(/^Node 20\.\d+\.\d+ is too old/),
  ]);
  expect(said.filter((line) => /gyp|warn/i.test(line) && !line.startsWith('{'))).toEqual([]);
});

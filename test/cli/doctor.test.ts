import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/database.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../support/mosquitto.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const run = promisify(execFile);

function passwordFile(): string {
  const file = `${temporaryFolder()}/password`;
  writeFileSync(file, `${ADMIN.password}\n`);
  return file;
}

const providers = (stdout: string) =>
  Object.fromEntries(
    JSON.parse(stdout).capabilities.map(({ api, provider }: { api: string; provider: string }) => [api, provider]),
  );

test('a Mosquitto that lacks the log feed is told what to configure', async () => {
  const { url } = await startMosquitto({ access: 'dynsec' });
  const args = ['doctor', url, '--username', ADMIN.username, '--password-file', passwordFile()];
  const { stdout } = await run(process.execPath, [MAIN, ...args, '--json']);
  expect(providers(stdout)).toMatchObject({
    'dynamic-security': 'BROKER',
    'cedalo/inspect': 'NONE',
    'stream-processing': 'GATEWAY',
    'cedalo/topictree': 'GATEWAY',
    'cedalo/license': 'GATEWAY',
  });
  const text = await run(process.execPath, [MAIN, ...args]);
  expect(text.stdout).toContain('Connected with MQTT 5');
  expect(text.stdout).toContain('log_dest topic');
});

test('a Mosquitto with the log feed can be inspected', async () => {
  const { url } = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  const { stdout } = await run(process.execPath, [
    MAIN,
    'doctor',
    url,
    '--username',
    ADMIN.username,
    '--password-file',
    passwordFile(),
    '--json',
  ]);
  expect(providers(stdout)).toMatchObject({ 'cedalo/inspect': 'GATEWAY' });
});

test('why a broker cannot be reached is told in words, with exit code 1', () => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'doctor', 'mqtt://127.0.0.1:1'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^error: Connection refused/)]);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/database.ts';
import { freeTen } from '../support/free-port.ts';
import { HAPROXY_MISSING, hasHaproxy } from '../support/haproxy.ts';
import { UNAVAILABLE, usePostgres } from '../support/postgres.ts';
import { bearer, startTestService } from '../support/service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const guide = readFileSync(`${ROOT}docs/scaling.md`, 'utf8');
const postgres = usePostgres();
const canRun = hasHaproxy && postgres.available;

/** Runs the commands that the guide lists below `By hand`, in another folder and with other ports and keys. */
async function followGuide() {
  const [, commands = ''] = /\n## By hand\n.*?```sh\n(.*?)```/s.exec(guide) ?? [];
  const ten = await freeTen();
  const here = commands
    .replace('deploy/haproxy.cfg', `${ROOT}deploy/haproxy.cfg`)
    .replace(/DATABASE_URL=\S+/, `DATABASE_URL=${await postgres.createDatabase()}`)
    .replace('SECRET_KEY=…', `SECRET_KEY=${'k'.repeat(32)}`)
    .replaceAll('brokergraph serve', `"${process.execPath}" "${ROOT}dist/main.js" serve`)
    .replaceAll(/(?<=PORT=|127\.0\.0\.1:)400/g, ten);
  const folder = temporaryFolder();
  const shell = spawn('bash', ['-e', '-c', here], {
    cwd: folder,
    detached: true,
    env: { PATH: `${process.env.PATH}:/usr/sbin`, MQTT_PORT: '0', MQTT_WS_PORT: '0', MQTT_TLS_PORT: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { text: '', log: '' };
  shell.stdout.on('data', (chunk) => {
    output.text += chunk;
  });
  shell.stderr.on('data', (chunk) => {
    output.log += chunk;
  });
  // The pipe closes when the last process of the guide has ended.
  const ended = once(shell, 'close');
  onTestFinished(async () => {
    if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGTERM');
    await ended;
  });
  return { output, folder, url: (n: number) => `http://127.0.0.1:${ten}${n}` };
}

const isReady = (url: string) =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );

describe.skipIf(!canRun)(canRun ? 'docs/scaling.md' : `${HAPROXY_MISSING}; ${UNAVAILABLE}`, () => {
  test('by hand, three processes and a balancer serve the administrator whose password is in the file that is printed', async () => {
    const { output, url, folder } = await followGuide();
    const readyOrLog = async (n: number) => (await isReady(url(n))) || output.log.slice(-5_000);
    for (const n of [1, 2, 3]) await expect.poll(() => readyOrLog(n), { timeout: 180_000 }).toBe(true);
    await expect.poll(() => isReady(url(0))).toBe(true);
    const printed = /"firstPassword":\{"email":"(.+?)","file":"(.+?)"/g;
    await expect.poll(() => [...output.text.matchAll(printed)].length).toBe(1);
    const [[, email, file = '']] = [...output.text.matchAll(printed)] as [RegExpMatchArray];
    const password = readFileSync(join(folder, file), 'utf8');
    const query = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
    const login = await fetch(`${url(0)}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { input: { email, password } } }),
    });
    const { data } = (await login.json()) as { readonly data: { readonly login: { readonly token: string } } };
    for (const n of [0, 1, 2, 3]) {
      const projects = await fetch(`${url(n)}/api/projects`, { headers: bearer(data.login.token) });
      expect(projects.status).toBe(200);
    }
  });

  test('a process with many requests opens as many connections to PostgreSQL as the guide states', async () => {
    const stated = Number(/Each process opens at most (\d+) connections/.exec(guide)?.[1]);
    const databaseUrl = await postgres.createDatabase();
    const service = await startTestService({
      env: { DATABASE_URL: databaseUrl, SECRET_KEY: 'k'.repeat(32), RATE_REQUESTS: 'off' },
    });
    const client = new pg.Client(databaseUrl);
    await client.connect();
    onTestFinished(() => client.end());
    const counted = async () => {
      const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE application_name LIKE 'brokergraph%' AND datname = current_database()`;
      return (await client.query(sql)).rows[0].count as number;
    };
    let most = 0;
    let isDone = false;
    const create = async (name: string) => {
      const input = { name };
      const mutation = 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }';
      return (await service.graphql(mutation, { input })).errors;
    };
    const requests = Promise.all(Array.from({ length: 100 }, (_, n) => create(`p${n}`))).finally(() => {
      isDone = true;
    });
    while (!isDone) most = Math.max(most, await counted());
    expect(new Set(await requests)).toEqual(new Set([undefined]));
    expect(most).toBe(stated);
  });
});

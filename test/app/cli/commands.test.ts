import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { migrationsFolder, readMigrations } from '../../../src/platform/storage/migrations/migrations.ts';
import { type Run, runHere } from '../../support/commands.ts';
import { temporaryFolder } from '../../support/database.ts';
import { PROCESS_ENV } from '../../support/process-env.ts';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

interface Running {
  readonly child: ChildProcess;
  readonly output: { out: string; err: string };
  readonly done: Promise<Run>;
  /** Like `kill -9`. */
  kill(): Promise<unknown>;
}

function start(args: readonly string[], env: Record<string, string>): Running {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...PROCESS_ENV, LOG_FORMAT: 'json', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => (output.out += chunk));
  child.stderr?.on('data', (chunk: Buffer) => (output.err += chunk));
  const done = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
  const kill = () => {
    child.kill('SIGKILL');
    return done;
  };
  return { child, output, done, kill };
}

function startForTest(args: readonly string[], env: Record<string, string>): Running {
  const running = start(args, env);
  onTestFinished(async () => {
    await running.kill();
  });
  return running;
}

const run = (args: readonly string[], env: Record<string, string>): Promise<Run> => startForTest(args, env).done;

/** No default port: another service may take it while one of these is restarted. */
const SERVE = { PORT: '0', MQTT_PORT: '0', MQTT_WS_PORT: '0', MQTT_TLS_PORT: '0' };

/** A running service for this test. */
const serve = (env: Record<string, string>) => ready(startForTest(['serve'], { ...SERVE, ...env }));

/** Resolves when the start message, a line of JSON, is complete. */
async function ready(running: Running) {
  await new Promise<void>((resolve, reject) => {
    running.child.stdout?.on('data', () => {
      if (/is ready"}\n$/.test(running.output.out)) resolve();
    });
    running.done.then(({ err }) => reject(new Error(`The service ended: ${err}`)), reject);
  });
  const { url, mqtt, unusedPorts, firstPassword } = JSON.parse(running.output.out);
  return { ...running, url, mqtt: mqtt.url, passwordFile: mqtt.passwordFile, unusedPorts, firstPassword };
}

const json = ({ out }: Run) => JSON.parse(out);

/** The lines of the log, each of which must be JSON. */
const linesOf = (text: string): { readonly level: number; readonly msg: string }[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** What libraries and Node print, also in a worker thread, and then an error that nothing catches. */
const PLANTED = `process.on("SIGUSR2", () => {
  console.log("from a library");
  console.error("two\\nlines");
  process.emitWarning("careful");
  const worker = new (process.getBuiltinModule("node:worker_threads").Worker)('console.error("from a thread")', { eval: true });
  worker.once("exit", () => setImmediate(() => { throw new Error("planted"); }));
})`;

test('--help names every command and setting, and a wrong command line exits with 2', async () => {
  const help = await run(['--help'], {});
  expect(help.code).toBe(0);
  for (const command of ['serve', 'migrate', 'user', 'token']) expect(help.out).toContain(command);
  const serveHelp = await runHere(['serve', '--help'], {});
  for (const variable of ['HOST', 'PORT', 'DATA_DIR', 'DATABASE_URL', 'SECRET_KEY', 'BROKER_TIMEOUT_MS'])
    expect(serveHelp.out).toContain(variable);
  expect((await run(['explode'], {})).code).toBe(2);
  expect((await runHere(['token', 'create'], {})).code).toBe(2);
  for (const days of ['1e12', 'Infinity', '0', 'x']) {
    const { code, err } = await runHere(['token', 'create', '--project', 'p', '--name', 'n', '--days', days], {});
    expect([code, err]).toEqual([2, expect.stringContaining('--days')]);
  }
});

test('all invalid settings are reported together, and nothing starts', async () => {
  const dataDir = `${temporaryFolder()}/data`;
  const { code, err } = await run(['serve'], { DATA_DIR: dataDir, PORT: 'x', LOG_LEVEL: 'y' });
  expect(code).toBe(2);
  expect(linesOf(err)).toMatchObject([{ level: 50, msg: expect.stringMatching(/^PORT must be.*\nLOG_LEVEL must be/) }]);
  expect(() => statSync(dataDir)).toThrow();
});

describe('a service on a data folder with a user, and commands with and without it', () => {
  const folderOf = (name: string) => mkdtempSync(join(tmpdir(), `brokergraph-${name}-`));
  const env = { DATA_DIR: folderOf('first'), ROOT_PASSWORD: 'a known password' };
  const neighbourEnv = { DATA_DIR: folderOf('neighbour') };
  const started: Running[] = [];
  const serveAll = (more: Record<string, string>) => {
    const running = start(['serve'], { ...SERVE, ...more });
    started.push(running);
    return ready(running);
  };
  let password = '';
  let first: Awaited<ReturnType<typeof ready>>;
  let neighbour: Awaited<ReturnType<typeof ready>>;

  beforeAll(async () => {
    await runHere(['migrate'], env);
    const creating = start(['user', 'create', 'ann@example.com', '--root', '--json'], env);
    started.push(creating);
    const created = json(await creating.done);
    expect(created).toMatchObject({ email: 'ann@example.com', isRootAdmin: true, password: expect.any(String) });
    password = created.password;
    expect(json(await runHere(['user', 'list', '--json'], env))).toMatchObject([{ email: 'ann@example.com' }]);
    expect((await runHere(['user', 'create', 'ann@example.com'], env)).code).toBe(1);

    first = await serveAll(env);
    const plant = encodeURIComponent(PLANTED);
    mkdirSync(join(neighbourEnv.DATA_DIR, 'first-password'));
    neighbour = await serveAll({
      ...neighbourEnv,
      MQTT_PORT: portOf(first.mqtt),
      NODE_OPTIONS: `--import=data:text/javascript,${plant}`,
    });
  });
  afterAll(async () => {
    await Promise.all(started.map((running) => running.kill()));
    for (const { DATA_DIR } of [env, neighbourEnv]) rmSync(DATA_DIR, { recursive: true, force: true });
  });

  const portOf = (url: string) => url.split(':').at(-1) ?? '';
  const graphql = async (url: string, query: string, token?: string) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as { data: Record<string, never> };
  };
  const login = async (url: string, secret: string) =>
    (await graphql(url, `mutation { login(input: { email: "ann@example.com", password: "${secret}" }) { token } }`))
      .data;

  test('users and tokens are managed without a running service', async () => {
    expect(await login(first.url, password)).toMatchObject({ login: { token: expect.any(String) } });

    const reset = json(await run(['user', 'reset-password', 'ann@example.com', '--json'], env));
    expect(await login(first.url, password)).toBeNull();
    password = reset.password;
    const sessionOf = async (secret: string) =>
      ((await login(first.url, secret)).login as unknown as { token: string }).token;
    let token = await sessionOf(password);
    expect((await runHere(['user', 'reset-second-factor', 'nobody@example.com'], env)).code).toBe(1);
    expect(json(await runHere(['user', 'reset-second-factor', 'Ann@example.com', '--json'], env))).toEqual({
      email: 'ann@example.com',
    });
    // The reset closes the sessions, because the finder of the device may be signed in.
    expect((await graphql(first.url, '{ viewer { name } }', token)).data).toBeFalsy();
    token = await sessionOf(password);
    const { projects } = (await graphql(first.url, '{ projects { nodes { id } } }', token)).data as unknown as {
      projects: { nodes: { id: string }[] };
    };
    const project = projects.nodes[0]?.id ?? '';
    expect(json(await runHere(['project', 'list', '--json'], env))).toMatchObject([
      { id: project, name: 'First project' },
    ]);
    const made = json(
      await runHere(['token', 'create', '--project', project, '--name', 'ci', '--role', 'VIEWER', '--json'], env),
    );
    const statusWithToken = async () => {
      const headers = { authorization: `Bearer ${made.secret}` };
      return (await fetch(`${first.url}/api/projects/${project}/brokers`, { headers })).status;
    };
    expect(await statusWithToken()).toBe(200);
    const brokerId = first.passwordFile.split('/').at(-2) ?? '';
    const own = await runHere(
      ['token', 'create', '--project', project, '--name', 'one', '--broker', brokerId, '--json'],
      env,
    );
    const { out } = await runHere(['token', 'list', '--project', project], env);
    expect(out).toMatch(new RegExp(`^${made.id} +ci +viewer +all +until revoked +20`, 'm'));
    expect(out).toMatch(new RegExp(`^${json(own).id} +one +viewer +${brokerId} +until revoked +never`, 'm'));
    // Names may contain control characters, which the terminal must not interpret.
    const hostile = ['token', 'create', '--project', project, '--name', 'n\u001b]0;owned\u0007\u009b2J\nrow'];
    expect((await runHere(hostile, env)).code).toBe(0);
    const listed = await runHere(['token', 'list', '--project', project], env);
    expect(listed.out).toContain('n\ufffd]0;owned\ufffd\ufffd2J\ufffdrow');
    expect((await runHere(['token', 'revoke', 'tok_\u001b[2J'], env)).err).toBe(
      'error: There is no token "tok_\ufffd[2J"\n',
    );
    const rotated = json(await runHere(['token', 'rotate', made.id, '--overlap', '60', '--json'], env));
    expect(rotated).toMatchObject({ id: made.id, previousValidUntil: expect.any(String) });
    expect(rotated.secret).not.toBe(made.secret);
    expect(await statusWithToken()).toBe(200);
    expect((await runHere(['token', 'rotate', made.id, '--overlap', 'soon'], env)).code).toBe(2);
    expect((await runHere(['token', 'rotate', made.id, '--overlap', '-1'], env)).err).toContain('--overlap');
    expect((await runHere(['token', 'revoke', made.id], env)).code).toBe(0);
    expect(await statusWithToken()).toBe(401);
  });

  test('users are created, shown and deleted without a running service, and errors name the option', async () => {
    const people = async () => json(await runHere(['user', 'list', '--json'], env)).length;
    const before = await people();
    const create = ['user', 'create', 'Bob@example.com'];
    const short = await runHere([...create, '--ask-password'], env, 'short');
    expect(short).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^error: the password: must have 8/) });
    expect((await runHere([...create, '--name', 'n'.repeat(2_000)], env)).err).toMatch(/^error: --name: /);
    expect((await runHere(['user', 'create', 'bob'], env)).err).toMatch(/^error: <email>: /);
    expect((await runHere([...create, 'a password that everybody sees'], env)).code).toBe(2);
    expect((await runHere([...create, '--sso-type', 'saml'], env)).code).toBe(2);
    expect((await runHere([...create, '--sso-type', 'sso', '--ask-password'], env)).code).toBe(2);
    expect(await people()).toBe(before);

    const named = ['--first-name', 'Bob', '--last-name', 'Byte', '--verified', '--json'];
    const bob = json(await runHere([...create, ...named, '--ask-password'], env, 'a long secret\n'));
    expect(bob).toMatchObject({ name: 'Bob Byte', isVerified: true, ssoType: null, isRootAdmin: false });
    expect(bob).not.toHaveProperty('password');
    const session = await graphql(
      first.url,
      'mutation { login(input: { email: "bob@example.com", password: "a long secret" }) { token } }',
    );
    const { token } = session.data.login as unknown as { token: string };
    await graphql(first.url, 'mutation { createProject(input: { name: "Bob’s" }) { project { id } } }', token);
    const eve = json(await runHere(['user', 'create', 'eve@example.com', '--sso-type', 'SSO', '--json'], env));
    expect(eve).toMatchObject({ ssoType: 'SSO', isVerified: false });
    expect(eve).not.toHaveProperty('password');

    expect(json(await runHere(['user', 'show', 'BOB@example.com', '--json'], env))).toMatchObject({
      id: bob.id,
      hasSecondFactor: false,
      projectCount: 1,
      sessions: [{ provider: null }],
    });
    expect((await runHere(['user', 'show', 'eve@example.com'], env)).out).toMatch(/^Signs in +by sso$/m);
    expect((await runHere(['user', 'show', 'b@example.com'], env)).code).toBe(1);
    const owner = await runHere(['user', 'delete', 'bob@example.com'], env);
    expect(owner).toMatchObject({ code: 1, err: expect.stringContaining('set the new owner (--hand-over-to)') });
    const self = await runHere(['user', 'delete', 'bob@example.com', '--hand-over-to', 'bob@example.com'], env);
    expect(self).toMatchObject({ code: 1, err: expect.stringMatching(/^error: --hand-over-to: /) });
    const removed = await runHere(
      ['user', 'delete', 'bob@example.com', '--hand-over-to', 'eve@example.com', '--json'],
      env,
    );
    expect(json(removed)).toEqual({
      id: bob.id,
      email: 'bob@example.com',
      handedOverProjectIds: [expect.stringMatching(/^prj_/)],
    });
    expect((await graphql(first.url, '{ viewer { name } }', token)).data).toBeFalsy();
    expect(await people()).toBe(before + 1);
  });

  test('a second process on the same data folder is refused with the owner', async () => {
    const second = await run(['serve'], { ...env, PORT: '0' });
    expect(second.code).toBe(1);
    const { msg = '' } = linesOf(second.err).at(-1) ?? {};
    expect(msg).toContain(String(first.child.pid));
    expect(msg).toContain('DATA_DIR');
  });

  test('a first broker is created with a free port if MQTT_PORT is in use, and the start message says so', () => {
    expect(neighbour.mqtt).not.toBe(first.mqtt);
    expect(neighbour.unusedPorts).toContain(`MQTT_PORT=${portOf(first.mqtt)}`);
  });

  test('SIGTERM stops it with clients connected, and the next start finds all data', async () => {
    const client = await connectAsync(first.mqtt, {
      username: 'admin',
      password: readFileSync(first.passwordFile, 'utf8'),
      reconnectPeriod: 0,
    });
    onTestFinished(() => client.endAsync(true));
    const stream = await fetch(`${first.url}/graphql`, { headers: { accept: 'text/event-stream' } });
    void stream.body?.cancel();

    first.child.kill('SIGTERM');
    const { code, err } = await first.done;
    expect(code).toBe(0);
    expect(err).toContain('stopped');

    const second = await serve(env);
    expect(second.firstPassword).toBeNull();
    const response = await fetch(`${second.url}/readyz`);
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'ready' }]);
    expect(await login(second.url, password)).toMatchObject({ login: { token: expect.any(String) } });
    // As when the terminal is closed.
    second.child.kill('SIGHUP');
    const end = await second.done;
    expect([end.code, linesOf(end.err).at(-1)?.msg]).toEqual([0, 'stopped']);
  });

  test('an uncaught error is logged and stops the service with exit code 1', async () => {
    neighbour.child.kill('SIGUSR2');
    const { code, out, err } = await neighbour.done;
    expect(code).toBe(1);
    const lines = linesOf(`${out}${err}`);
    expect(lines.at(-1)).toMatchObject({
      level: 60,
      err: { message: 'planted' },
      msg: 'exiting after an uncaught error',
    });
    const advice = expect.stringContaining('brokergraph user reset-password admin@localhost');
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, msg: advice }));
    for (const msg of ['from a library', 'two\nlines', 'careful', 'from a thread']) {
      expect(lines).toContainEqual(expect.objectContaining({ level: 40, msg }));
    }
  });
});

test('SIGQUIT stops a service in order, whose first password is in a file and not in its log', async () => {
  const dataDir = temporaryFolder();
  const service = await serve({ DATA_DIR: dataDir });
  const { email, file } = service.firstPassword;
  expect([email, file]).toEqual(['admin@localhost', join(dataDir, 'first-password')]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const password = readFileSync(file, 'utf8');
  const query = `mutation { login(input: { email: "${email}", password: "${password}" }) { token } }`;
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  expect(await response.json()).toMatchObject({ data: { login: { token: expect.any(String) } } });
  service.child.kill('SIGQUIT');
  const { code, out, err } = await service.done;
  expect([code, linesOf(err).at(-1)?.msg]).toEqual([0, 'stopped']);
  expect(`${out}${err}`).not.toContain(password);
});

test('migrate updates the database and reports if it is up to date', async () => {
  const env = { DATA_DIR: temporaryFolder() };
  expect(json(await run(['migrate', '--json'], env))).toMatchObject({
    engine: 'sqlite',
    applied: readMigrations(migrationsFolder('sqlite')).map(({ name }) => name),
  });
  expect((await runHere(['migrate'], env)).out).toContain('up to date');
});

test('a closed standard output does not fail a command', async () => {
  const { child, output, done } = start(['--help'], {});
  child.stdout?.destroy();
  expect({ ...(await done), err: output.err }).toMatchObject({ code: 0, err: '' });
});

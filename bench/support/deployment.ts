/** Several processes of the product on one database, each with a data folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { cpuSeconds } from './cpu-time.ts';
import { rssOf } from './memory.ts';
import type { Postgres } from './postgres.ts';
import { watch } from './watchdog.ts';

const ROOT = { email: 'admin@localhost', password: 'correct horse battery' };
const COLLECTOR = new URL('collect-garbage.js', import.meta.url).href;
const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
const PROJECT = 'mutation { createProject(input: { name: "Scale" }) { project { id } } }';

/** Runs an operation and returns its data. Errors: those of the response. */
// biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
type Graphql = (query: string, variables?: object) => Promise<any>;

export interface Deployment {
  readonly database: string;
  readonly ports: readonly number[];
  /** Session of the root administrator. */
  readonly token: string;
  readonly projectId: string;
  readonly graphql: Graphql;
  /** Runs operations in one of the processes, each time in the next one. */
  client(): Graphql;
  /** Processor time of all processes. */
  cpuSeconds(): number;
  /** Resident memory of all processes in MB, after their garbage was collected. */
  settledRss(): Promise<number>;
  close(): Promise<void>;
}

interface DeploymentOptions {
  readonly folder: string;
  readonly postgres: Postgres;
  readonly processes: number;
}

export async function startDeployment({ folder, postgres, processes }: DeploymentOptions): Promise<Deployment> {
  const database = `scale_${randomUUID().replaceAll('-', '')}`;
  const administrator = new pg.Client(postgres.url);
  await administrator.connect();
  await administrator.query(`CREATE DATABASE ${database}`);
  await administrator.end();
  const members: { readonly child: ChildProcess; readonly port: number }[] = [];
  // One after the other: the first one migrates.
  for (let n = 0; n < processes; n += 1) {
    const env = {
      DATABASE_URL: postgres.url.replace(/[^/]*$/, database),
      DATA_DIR: join(folder, `${database}-${n}`),
    };
    members.push(await startProcess(env));
  }
  let token = '';
  let turn = 0;
  const client = (): Graphql => {
    const port = members[turn++ % members.length]?.port;
    return async (query, variables = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify({ query, variables }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
      const { data, errors } = (await response.json()) as any;
      if (errors) throw new Error(JSON.stringify(errors));
      return data;
    };
  };
  const graphql = client();
  token = (await graphql(LOGIN, { input: ROOT })).login.token;
  const projectId = (await graphql(PROJECT)).createProject.project.id;
  const pids = members.map(({ child }) => child.pid ?? 0);
  const sum = (of: (pid: number) => number) => pids.reduce((all, pid) => all + of(pid), 0);
  return {
    database,
    ports: members.map(({ port }) => port),
    token,
    projectId,
    graphql,
    client,
    cpuSeconds: () => sum(cpuSeconds),
    settledRss: async () => {
      await Promise.all(members.map(({ child }) => collectGarbage(child)));
      return sum(rssOf);
    },
    close: async () => {
      await Promise.all(members.map(({ child }) => stop(child)));
    },
  };
}

async function startProcess(env: Record<string, string>): Promise<{ child: ChildProcess; port: number }> {
  const options = process.env.BENCH_NODE_OPTIONS?.split(' ') ?? [];
  const child = spawn(process.execPath, [...options, '--import', COLLECTOR, 'dist/main.js', 'serve'], {
    env: {
      ...process.env,
      PORT: '0',
      SECRET_KEY: 'the same key for all of the processes',
      EMBEDDED_BROKER: 'off',
      RATE_REQUESTS: 'off',
      LOG_LEVEL: 'error',
      ROOT_PASSWORD: ROOT.password,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    detached: true,
  });
  child.once('exit', watch(child.pid ?? 0));
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      const port = /"url":"http:\/\/[^:]+:(\d+).*\n/.exec(text)?.[1];
      if (port !== undefined) resolve({ child, port: Number(port) });
    });
    child.once('exit', () => reject(new Error(`The product did not start: ${text}`)));
  });
}

async function collectGarbage(child: ChildProcess): Promise<void> {
  const collected = once(child, 'message');
  child.send('collect');
  await collected;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { temporaryFolder } from './database.ts';
import { endProcess } from './end-process.ts';
import { PROCESS_ENV } from './process-env.ts';
import { bearer, ROOT, startTestService } from './service.ts';
import { onTestFinished } from './shared.ts';

/** The product in its own process. A test can kill and restart it, and read its memory use (Linux). */
export interface ServiceProcess {
  readonly dataDir: string;
  /** URL of the current process. */
  readonly url: string;
  /** Session token of the root administrator. */
  readonly root: string;
  /** Id of a project for brokers. */
  readonly projectId: string;
  /** Adds a broker, waits until it is connected, and returns its id. */
  addBroker(url: string): Promise<string>;
  /** Runs an operation as the root administrator and returns its data. Throws the errors of the response. */
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
  graphql(query: string, variables?: object): Promise<any>;
  /** Resident memory in MB. */
  rss(): number;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  /** Sends SIGTERM, waits for the exit, and returns the exit code. */
  stop(): Promise<number | null>;
  /** Resolves when the current process has ended. */
  exit(): Promise<void>;
  /** Starts a process with the same data. */
  start(): Promise<void>;
}

/** What a service in the process of the test has, too. It costs a tenth of a process, but cannot be killed. */
export type StartedService = Omit<ServiceProcess, 'kill' | 'exit' | 'rss' | 'start'> &
  Partial<Pick<ServiceProcess, 'kill'>>;

/** `dataDir`: of a process that was stopped or killed. Default: a new folder. */
export async function startServiceHere(env: Record<string, string> = {}, dataDir?: string): Promise<StartedService> {
  const service = await startTestService({ env, ...(dataDir === undefined ? {} : { dataDir }) });
  const { url, root, projectId } = service;
  const here: StartedService = {
    dataDir: service.config.dataDir,
    url,
    root,
    projectId,
    graphql: async (query, variables = {}) => {
      const { data, errors } = await service.graphql(query, { ...variables });
      if (errors) throw new Error(JSON.stringify(errors));
      return data;
    },
    stop: () => service.close().then(() => 0),
    addBroker: (brokerUrl) => addBroker(here, brokerUrl),
  };
  return here;
}

async function addBroker(
  { url, root, projectId, graphql }: Pick<StartedService, 'url' | 'root' | 'projectId' | 'graphql'>,
  brokerUrl: string,
): Promise<string> {
  const response = await fetch(`${url}/api/projects/${projectId}/brokers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(root) },
    body: JSON.stringify({ name: 'scripted', url: brokerUrl }),
  });
  const { id } = (await response.json()) as { readonly id: string };
  const isConnected = async () =>
    (await graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id })).broker.isConnected;
  await expect.poll(isConnected).toBe(true);
  return id;
}

export const mainProgram = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** `more`: environment variables. By default the service runs no brokers. `program`: `main.js` of a build. */
export async function startServiceProcess(
  more: Record<string, string> = {},
  program = mainProgram,
): Promise<ServiceProcess> {
  const dataDir = temporaryFolder();
  let child: ChildProcess | null = null;
  let url = '';
  const end = async (signal: NodeJS.Signals) => {
    if (child !== null) await endProcess(child, signal);
  };
  const kill = () => end('SIGKILL');
  const start = async () => {
    child = spawnService(program, dataDir, more);
    url = await readyUrl(child);
  };
  const exit = async () => {
    if (child !== null && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  onTestFinished(kill);
  await start();

  let root: string | null = null;
  const graphql = async (query: string, variables: object = {}) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(root) },
      body: JSON.stringify({ query, variables }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
    const { data, errors } = (await response.json()) as any;
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const { login } = await graphql('mutation ($input: LoginInput!) { login(input: $input) { token } }', { input: ROOT });
  root = login.token as string;
  const { createProject } = await graphql('mutation { createProject(input: { name: "Test" }) { project { id } } }');
  const projectId = createProject.project.id as string;
  return {
    dataDir,
    get url() {
      return url;
    },
    root,
    projectId,
    graphql,
    kill,
    stop: async () => {
      await end('SIGTERM');
      return child?.exitCode ?? null;
    },
    exit,
    start,
    rss: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child?.pid}/status`, 'utf8'))?.[1]) / 1_024,
    addBroker: (brokerUrl) => addBroker({ url, root: root ?? '', projectId, graphql }, brokerUrl),
  };
}

function spawnService(program: string, dataDir: string, more: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [program, 'serve'], {
    env: {
      ...PROCESS_ENV,
      PORT: '0',
      DATA_DIR: dataDir,
      EMBEDDED_BROKER: 'off',
      ROOT_EMAIL: ROOT.email,
      ROOT_PASSWORD: ROOT.password,
      LOG_LEVEL: 'error',
      BROKER_TIMEOUT_MS: '30000',
      ...more,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Resolves with the URL that the process prints when it is ready. */
export function readyUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      if (/is ready"}\n/.test(text)) resolve(/"url":"([^"]+)/.exec(text)?.[1] ?? '');
    });
    child.once('exit', () => reject(new Error(`The service did not start: ${text}`)));
  });
}

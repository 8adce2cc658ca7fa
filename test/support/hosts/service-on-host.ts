import { type ChildProcess, execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { endProcess } from '../end-process.ts';
import { PROCESS_ENV } from '../process-env.ts';
import { bearer, ROOT } from '../service.ts';
import { mainProgram, readyUrl } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Host } from './network.ts';

interface ServiceOptions {
  readonly databaseUrl: string;
  /** The clock of the host is ahead by this much. Intervals are not affected, as on a real machine. Default: 0. */
  readonly clockAheadSeconds?: number;
  readonly env?: Record<string, string>;
}

/** A process of the product on a host. */
export interface ServiceOnHost {
  readonly host: Host;
  readonly url: string;
  readonly dataDir: string;
  /** What the process has logged, at the levels warn and above. */
  readonly log: string;
  /** Runs an operation, by default as the root administrator, and returns its data. Throws the errors. */
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
  graphql(query: string, variables?: object, token?: string): Promise<any>;
  /** Signs in as the root administrator. The session is valid for all processes on the database. */
  signIn(): Promise<string>;
  kill(): Promise<void>;
  /** Ends the process as its supervisor does: SIGTERM. */
  stop(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  suspend(): void;
  resume(): void;
  start(): Promise<void>;
}

const SHARED_KEY = '5e'.repeat(32);
const PORT = 4000;

export async function startServiceOn(host: Host, options: ServiceOptions): Promise<ServiceOnHost> {
  const { databaseUrl, clockAheadSeconds = 0, env = {} } = options;
  const folder = temporaryFolder();
  let child: ChildProcess | null = null;
  let log = '';
  let token = '';
  const url = `http://${host.address}:${PORT}`;
  const end = async (signal: NodeJS.Signals) => {
    if (child !== null) await endProcess(child, signal);
  };
  onTestFinished(() => end('SIGKILL'));
  const start = async () => {
    child = host.spawn(process.execPath, [mainProgram, 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...PROCESS_ENV,
        HOST: host.address,
        PORT: String(PORT),
        DATA_DIR: folder,
        DATABASE_URL: databaseUrl,
        SECRET_KEY: SHARED_KEY,
        EMBEDDED_BROKER: 'off',
        BROKER_ALLOWED_HOSTS: '*,10.0.0.0/8',
        ROOT_EMAIL: ROOT.email,
        ROOT_PASSWORD: ROOT.password,
        LOG_LEVEL: 'warn',
        // Many processes start at the same time.
        BROKER_TIMEOUT_MS: '20000',
        ...(clockAheadSeconds === 0 ? {} : fakeTime(clockAheadSeconds)),
        ...env,
      },
    });
    child.stderr?.on('data', (data: Buffer) => {
      log = `${log}${data}`.slice(-100_000);
    });
    await readyUrl(child);
    child.stdout?.on('data', (data: Buffer) => {
      log = `${log}${data}`.slice(-100_000);
    });
  };
  await start();
  const graphql: ServiceOnHost['graphql'] = async (query, variables = {}, as = token) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(as === '' ? null : as) },
      body: JSON.stringify({ query, variables }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
    const { data, errors } = (await response.json()) as any;
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
  return {
    host,
    url,
    dataDir: folder,
    get log() {
      return log;
    },
    graphql,
    signIn: async () => {
      token = (await graphql(login, { input: ROOT }, '')).login.token;
      return token;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    start,
  };
}

/** Only the time of day: intervals of a real machine with a wrong clock are right. */
function fakeTime(seconds: number): Record<string, string> {
  const library = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
  execFileSync('test', ['-e', library]);
  return { LD_PRELOAD: library, FAKETIME: `+${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' };
}

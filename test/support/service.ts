import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { expect } from 'vitest';
import { type RunningService, startService } from '../../src/app/service.ts';
import { hashPassword } from '../../src/platform/auth/passwords.ts';
import type { ProjectRole } from '../../src/platform/auth/viewer.ts';
import { type Config, readConfig } from '../../src/platform/config/config.ts';
import { databaseOfRun, temporaryFolder } from './database.ts';
import { createDatabase, type TestPostgres } from './postgres.ts';
import { programUrl } from './programs.ts';
import { onTestFinished } from './shared.ts';

export const ROOT = { email: 'root@example.com', password: 'correct horse battery' } as const;

/** Password of each user that a test adds. Hashing is slow, so it is hashed once. */
export const PASSWORD = 'a good password';
let passwordHash: Promise<string> | null = null;

export interface GraphqlAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the operation.
  readonly data: any;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly unknown[];
    readonly extensions: { readonly code: string; readonly info?: unknown };
  }[];
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the route.
  readonly body: any;
}

/** A complete service on free ports, with clients for GraphQL and REST. */
export interface TestService extends RunningService {
  readonly url: string;
  readonly config: Config;
  /** Session token of the root administrator. */
  readonly root: string;
  /** Id of the project that the first start creates. */
  readonly projectId: string;
  graphql(document: string, variables?: Record<string, unknown>, token?: string | null): Promise<GraphqlAnswer>;
  rest(
    method: string,
    path: string,
    token?: string | null,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<RestAnswer>;
  /** Adds a user with a role in a project and the password PASSWORD, and signs in. */
  person(
    role: ProjectRole | null,
    projectId?: string,
  ): Promise<{ readonly token: string; readonly email: string; readonly id: string }>;
  login(email: string, password: string): Promise<string>;
}

export interface TestServiceOptions {
  readonly env?: Record<string, string>;
  readonly dataDir?: string;
  /** Whether the embedded broker starts. Default: false. */
  readonly embeddedBroker?: boolean;
  /** Default: a log of the level TEST_LOG, or no log. */
  readonly log?: Logger;
}

const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token user { id } } }';

const WORKERS = {
  embeddedWorker: programUrl('src/data-plane/broker/worker.ts'),
  streamWorker: programUrl('src/data-plane/streams/hosting/stream-worker.ts'),
  bridgeWorker: programUrl('src/data-plane/bridges/hosting/bridge-worker.ts'),
  topicWorker: programUrl('src/data-plane/topic-tree/hosting/topic-worker.ts'),
  historyWorker: programUrl('src/data-plane/history/hosting/history-worker.ts'),
};

const SETTINGS = {
  PORT: '0',
  MQTT_PORT: '0',
  MQTT_WS_PORT: '0',
  MQTT_TLS_PORT: 'off',
  ROOT_EMAIL: ROOT.email,
  ROOT_PASSWORD: ROOT.password,
  // Bridges of tests connect to servers on this machine, which is refused by default.
  BROKER_ALLOWED_HOSTS: '*,localhost,127.0.0.0/8,::1',
  // Generous, because a busy machine is slow. Tests of missing responses set their own timeout.
  BROKER_TIMEOUT_MS: '30000',
};

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { dataDir, env = {} } = options;
  const isUsual = dataDir === undefined && !['ROOT_EMAIL', 'ROOT_PASSWORD', 'DATABASE_URL'].some((name) => name in env);
  if (isUsual) begun ??= databaseOfRun().then(firstDatabase);
  const first = isUsual ? await begun : undefined;
  const databaseUrl = 'DATABASE_URL' in env ? undefined : await databaseOfRun(first?.url);
  const config = readConfig({
    ...SETTINGS,
    DATA_DIR: dataDir ?? temporaryFolder(),
    EMBEDDED_BROKER: options.embeddedBroker ? 'on' : 'off',
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...env,
  });
  if (first?.file) copyFileSync(first.file, join(config.dataDir, DATABASE));
  const log = options.log ?? pino({ level: process.env.TEST_LOG ?? 'silent' });
  const service = await startService(config, { log, ...WORKERS });
  onTestFinished(() => service.close());
  return clientsOf(service, config);
}

const DATABASE = 'brokergraph.db';
let begun: Promise<FirstDatabase> | null = null;

/** `file` on SQLite, `url` on PostgreSQL. */
interface FirstDatabase {
  readonly file?: string;
  readonly url?: string;
}

/**
 * The database after a first start, with all tables and the root administrator. Its creation takes a third of a start
 * on SQLite and most of it on PostgreSQL, so each test process creates it once and copies it.
 */
async function firstDatabase(url?: string): Promise<FirstDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-first-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const database = url === undefined ? {} : { DATABASE_URL: url };
  const config = readConfig({ ...SETTINGS, ...database, DATA_DIR: folder, EMBEDDED_BROKER: 'off' });
  const log = pino({ level: 'silent' });
  await (await startService(config, { log, ...WORKERS })).close();
  return url === undefined ? { file: join(folder, DATABASE) } : { url };
}

let begunOnPostgres: Promise<FirstDatabase> | null = null;

/** A database for several services, after a first start unless the test file has a server of its own. */
export async function sharedDatabase(postgres?: TestPostgres): Promise<string> {
  const { TEST_POSTGRES_URL: server } = process.env;
  if (!server) return (await postgres?.createDatabase()) ?? '';
  begunOnPostgres ??= createDatabase(server).then(firstDatabase);
  return createDatabase(server, (await begunOnPostgres).url);
}

async function clientsOf(service: RunningService, config: Config): Promise<TestService> {
  const url = service.report.url;
  const graphql = async (document: string, variables = {}, token: string | null = root): Promise<GraphqlAnswer> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(token) },
      body: JSON.stringify({ query: document, variables }),
    });
    return (await response.json()) as GraphqlAnswer;
  };
  const login = async (email: string, password: string) => {
    const { data, errors } = await graphql(LOGIN, { input: { email, password } }, null);
    if (errors) throw new Error(errors[0]?.message);
    return data.login.token as string;
  };
  let root = '';
  const { db } = service.storage;
  const administrator = await db.user.findUnique({ where: { email: ROOT.email } });
  root = administrator ? (await service.services.auth.sessions.open(administrator.id)).token : '';
  const first = await db.project.findFirst();
  const projectId =
    first?.id ??
    (await graphql('mutation { createProject(input: { name: "Test" }) { project { id } } }')).data.createProject.project
      .id;
  let people = 0;
  return {
    ...service,
    url,
    config,
    root,
    projectId,
    graphql,
    login,
    rest: async (method, path, token = root, body, headers = {}) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...bearer(token),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
    },
    person: async (role, project = projectId) => {
      people += 1;
      const email = `person-${people}@example.com`;
      const user = await service.services.users.create({ email });
      passwordHash ??= hashPassword(PASSWORD);
      await db.user.update({ where: { id: user.id }, data: { passwordHash: await passwordHash } });
      if (role !== null) await service.services.projects.setMember(project, email, role);
      return { email, id: user.id, token: (await service.services.auth.sessions.open(user.id)).token };
    },
  };
}

/** Resolves when the service is connected to the broker. */
export const connected = (service: TestService, brokerId: string): Promise<void> =>
  expect.poll(() => service.services.runtimes.isConnected(brokerId)).toBe(true);

export const bearer = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

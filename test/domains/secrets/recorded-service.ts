import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, validate } from 'graphql';
import { createClient } from 'graphql-ws';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import WebSocket from 'ws';
import { runCommand } from '../../../src/app/cli/program.ts';
import { schema } from '../../../src/app/schema.ts';
import { bearer, type GraphqlAnswer, ROOT, startTestService, type TestService } from '../../support/service.ts';
import { type Leak, PlantedSecrets } from './planted-secrets.ts';

interface Output {
  readonly source: string;
  readonly text: string;
  readonly tells: readonly string[];
}

/** A service whose whole output is recorded: lines of its log at all levels, responses, rows and files. */
export interface RecordedService extends Pick<TestService, 'projectId' | 'services' | 'storage' | 'config' | 'url'> {
  readonly secrets: PlantedSecrets;
  readonly plant: (name: string) => string;
  /** Session of the root administrator. */
  readonly root: string;
  /** The last argument returns the secrets that the response may contain, from its data. */
  graph(
    document: string,
    variables?: Record<string, unknown>,
    token?: string | null,
    // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
    told?: (data: any) => readonly string[],
  ): Promise<GraphqlAnswer>;
  /** A request as it is; `body` as text or as what becomes JSON. */
  http(
    method: string,
    path: string,
    options?: HttpOptions,
  ): Promise<{ readonly status: number; readonly text: string }>;
  /** Events of a subscription until it ends, or until the first one. */
  webSocket(params: Record<string, unknown>, query: string, variables?: Record<string, unknown>): Promise<void>;
  /** Runs a command while the service runs. */
  cli(
    args: readonly string[],
    options?: CliOptions,
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
  /** Records other output; the last argument has secrets that it may contain. */
  record(source: string, text: string, tells?: readonly string[]): void;
  /** The secrets in the whole output, rows and files included. */
  leaks(): Promise<Leak[]>;
}

interface HttpOptions {
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly told?: (text: string) => readonly string[];
}

interface CliOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly told?: (out: string) => readonly string[];
}

/** `settings`: in addition to the secret settings of every service. */
export async function startRecordedService(
  settings: (plant: RecordedService['plant'], secrets: PlantedSecrets) => Record<string, string> = () => ({}),
): Promise<RecordedService> {
  const secrets = new PlantedSecrets();
  const plant = (name: string) => secrets.plant(name);
  const outputs: Output[] = [];
  const keep = (source: string, text: string, tells: readonly string[] = []) =>
    void outputs.push({ source, text, tells });
  listenToProcess(keep);
  // Without the censor of the product's log, which is a net below what should not be there at all.
  const log = pino({ level: 'trace' }, { write: (line: string) => keep('log', line) });
  const service = await startTestService({
    embeddedBroker: true,
    log,
    env: {
      ROOT_PASSWORD: plant('ROOT_PASSWORD'),
      // 43 characters are 32 bytes in base64. From a longer text, each process derives the key with scrypt.
      SECRET_KEY: plant('SECRET_KEY').slice(1),
      SECRET_KEY_PREVIOUS: plant('SECRET_KEY_PREVIOUS').slice(1),
      METRICS_TOKEN: plant('METRICS_TOKEN'),
      SMTP_URL: `smtp://mail:${plant('SMTP_URL')}@127.0.0.1:1`,
      ...settings(plant, secrets),
    },
  });
  const { url, config, storage } = service;
  keep('start report', JSON.stringify(service.report));
  const http: RecordedService['http'] = async (
    method,
    path,
    { token = service.root, headers = {}, body, told } = {},
  ) => {
    const isText = typeof body === 'string';
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      headers: { ...bearer(token), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const shown = secrets.leaksIn('path', path).length > 0 ? '(a path with a secret)' : path;
    keep(`${method} ${shown}`, `${JSON.stringify([...response.headers])}\n${text}`, told?.(text) ?? []);
    return { status: response.status, text };
  };
  return {
    projectId: service.projectId,
    services: service.services,
    storage,
    config,
    url,
    secrets,
    plant,
    root: service.root,
    http,
    graph: async (query, variables = {}, token = service.root, told = () => []) => {
      // A document that is refused as a whole would try nothing.
      expect(validate(schema, parse(query)).map(({ message }) => message)).toEqual([]);
      const options = { token, body: { query, variables }, told: (text: string) => told(JSON.parse(text).data ?? {}) };
      const { text } = await http('POST', '/graphql', options);
      return JSON.parse(text) as GraphqlAnswer;
    },
    webSocket: async (connectionParams, query, variables = {}) => {
      const client = createClient({
        url: `${url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams,
        retryAttempts: 0,
        on: {
          message: (message) => keep('WebSocket', JSON.stringify(message)),
          closed: (event) => keep('WebSocket close', String((event as { reason?: string }).reason)),
        },
      });
      try {
        await client.iterate({ query, variables }).next();
      } catch (error) {
        // A close event says itself why; it was kept above.
        if (error instanceof Error) keep('WebSocket error', error.message);
      } finally {
        await client.dispose();
      }
    },
    cli: async (args, { env: more = {}, input = '', told = () => [] } = {}) => {
      let out = '';
      let err = '';
      const code = await runCommand(args, {
        env: {
          DATA_DIR: config.dataDir,
          ...(config.databaseUrl === undefined ? {} : { DATABASE_URL: config.databaseUrl }),
          SECRET_KEY: plant('SECRET_KEY').slice(1),
          PORT: '0',
          EMBEDDED_BROKER: 'off',
          ...more,
        },
        out: (text) => {
          out += text;
        },
        err: (text) => {
          err += text;
        },
        readInput: async () => input,
        isTerminal: false,
        stop: AbortSignal.abort(),
        onBug: () => undefined,
      });
      keep(`brokergraph ${args.slice(0, 2).join(' ')}`, `${out}\n${err}`, told(out));
      return { code, out, err };
    },
    record: keep,
    leaks: async () => {
      const rows = await dump(storage.db as unknown as RawDatabase, config.databaseUrl !== undefined);
      const files = filesIn(config.dataDir).filter((file) => !KEPT_IN_THE_OPEN.test(file));
      return [
        ...outputs.flatMap(({ source, text, tells }) => secrets.leaksIn(source, text, tells)),
        ...rows.flatMap(({ table, row }) => secrets.leaksIn(`a row of ${table}`, row)),
        ...files.flatMap((file) => secrets.leaksIn(`the file ${file}`, readFileSync(file, 'latin1'))),
      ];
    },
  };
}

export { ROOT };

/** Documented: the password of a broker's administrator, in a folder that only its owner may read. */
const KEPT_IN_THE_OPEN = /\/brokers\/[^/]+\/password$/;

/** What is printed goes on to where it went. */
function listenToProcess(keep: (source: string, text: string) => void): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = process[name];
    const write = stream.write;
    stream.write = ((chunk: unknown, ...rest: unknown[]) => {
      keep(name, String(chunk));
      return Reflect.apply(write, stream, [chunk, ...rest]);
    }) as typeof stream.write;
    onTestFinished(() => {
      stream.write = write;
    });
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

interface RawDatabase {
  $queryRawUnsafe(sql: string): Promise<Record<string, unknown>[]>;
}

async function dump(db: RawDatabase, isPostgres: boolean): Promise<{ readonly table: string; readonly row: string }[]> {
  const tables = await db.$queryRawUnsafe(
    isPostgres
      ? `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`
      : `SELECT name FROM sqlite_master WHERE type = 'table'`,
  );
  const found: { table: string; row: string }[] = [];
  for (const { name } of tables) {
    const table = String(name);
    const rows = await db.$queryRawUnsafe(`SELECT * FROM "${table}"`);
    const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
    for (const row of rows) found.push({ table, row: JSON.stringify(row, plain) });
  }
  return found;
}

import type { ExecutionResult } from 'graphql';
import { Closers } from '../../platform/closers.ts';
import type { Config } from '../../platform/config/config.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { callOperatorSocket, type RunOperation } from '../operator/operator-socket.ts';

type Variables = Readonly<Record<string, unknown>>;

/** Names of input fields on the command line: `{ name: '--name', email: '<email>' }`. */
export type ArgumentNames = Readonly<Record<string, string>>;

/**
 * Runs an operation as the operator: in the running service of the data folder, otherwise in this process, which
 * connects to the required brokers. Errors: those of `requireData`; those of the graph, in which `names` replace names
 * of input fields.
 */
export async function runOnGraph<T>(
  { config }: { readonly config: Config },
  document: string,
  variables: Variables = {},
  names: ArgumentNames = {},
): Promise<T> {
  const result = await callOperatorSocket(config.dataDir, document, variables);
  return dataOf<T>(result ?? (await withOwnCore(config, (run) => run(document, variables))), names);
}

interface Page<T> {
  readonly nodes: readonly T[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export async function listOnGraph<T>(
  cli: { readonly config: Config },
  document: string,
  variables: Variables = {},
): Promise<T[]> {
  const found: T[] = [];
  for (let after: string | null = null; ; ) {
    const data: Readonly<Record<string, Page<T>>> = await runOnGraph(cli, document, { ...variables, after });
    const [page] = Object.values(data);
    found.push(...(page?.nodes ?? []));
    if (!page?.pageInfo.hasNextPage) return found;
    after = page.pageInfo.endCursor;
  }
}

export const isServiceRunning = async ({ dataDir }: Config): Promise<boolean> =>
  (await callOperatorSocket(dataDir, '{ __typename }', {})) !== null;

async function withOwnCore<T>(config: Config, work: (run: RunOperation) => Promise<T>): Promise<T> {
  // Loaded on demand: the whole service takes longer to load than a running service to respond.
  const { requireData, requireKey } = await import('../../platform/storage/folder/require-data.ts');
  await requireData(config);
  requireKey(config);
  const { createLog } = await import('../../platform/log.ts');
  const { openParts } = await import('../parts.ts');
  const { asOperator } = await import('../operator/as-operator.ts');
  const log = await createLog({ ...config, logLevel: 'error' }, false);
  const closers = new Closers();
  try {
    const { services, storage } = await openParts(config, { log }, closers);
    services.runtimes.startOnDemand();
    return await work(asOperator(storage.db, services));
  } finally {
    await closers.close();
  }
}

/** Runs one operation several times, like `runOnGraph`, but with one start. Errors: also those of `work`. */
export async function withGraph<T>(
  config: Config,
  document: string,
  work: (query: (variables: Variables) => Promise<T>) => Promise<void>,
): Promise<void> {
  if (await isServiceRunning(config)) await work((variables) => runOnGraph<T>({ config }, document, variables));
  else await withOwnCore(config, (run) => work(async (variables) => dataOf<T>(await run(document, variables))));
}

function dataOf<T>({ data, errors }: ExecutionResult, names: ArgumentNames = {}): T {
  const [error] = errors ?? [];
  if (error === undefined) return data as T;
  const code = (error.extensions?.code as ErrorCode | undefined) ?? 'INTERNAL_ERROR';
  throw new ServiceError(code, asOnCommandLine(error.message, names));
}

const asOnCommandLine = (message: string, names: ArgumentNames): string =>
  message
    .replace(/\binput\.(\w+)/g, (found, field: string) => names[field] ?? found)
    .replace(/\((\w+)\)/g, (found, field: string) => (names[field] === undefined ? found : `(${names[field]})`));

import type { ExecutionResult } from 'graphql';
import { Closers } from '../../platform/closers.ts';
import type { Config } from '../../platform/config/config.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { createLog } from '../../platform/log.ts';
import { callOperatorSocket, type RunOperation } from '../operator/operator-socket.ts';

/** Names of input fields on the command line: `{ name: '--name', email: '<email>' }`. */
export type ArgumentNames = Readonly<Record<string, string>>;

/**
 * Runs an operation on the graph as the operator: in the running service of the data folder, or otherwise in this
 * process, which connects to the required brokers. Errors: those of the graph as ServiceError, in which `names` replace
 * the names of input fields.
 */
export async function runOnGraph<T>(
  config: Config,
  document: string,
  variables: Record<string, unknown> = {},
  names: ArgumentNames = {},
): Promise<T> {
  const result = await callOperatorSocket(config.dataDir, document, variables);
  return dataOf<T>(result ?? (await withOwnCore(config, (run) => run(document, variables))), names);
}

/** Whether a service runs on the data folder. */
export const isServiceRunning = async ({ dataDir }: Config): Promise<boolean> =>
  (await callOperatorSocket(dataDir, '{ __typename }', {})) !== null;

async function withOwnCore<T>(config: Config, work: (run: RunOperation) => Promise<T>): Promise<T> {
  const log = await createLog({ ...config, logLevel: 'error' }, false);
  // Loaded on demand: the whole service takes longer to load than a running service to respond.
  const { openParts } = await import('../parts.ts');
  const { asOperator } = await import('../operator/as-operator.ts');
  const closers = new Closers();
  try {
    const { services, storage } = await openParts(config, { log }, closers);
    services.runtimes.startOnDemand();
    return await work(asOperator(storage.db, services));
  } finally {
    await closers.close();
  }
}

/** Runs one operation with these variables. */
type Query<T> = (variables: Readonly<Record<string, unknown>>) => Promise<T>;

/**
 * Runs one operation several times, like `runOnGraph`, but with one start. Errors: those of `work` and of `runOnGraph`.
 */
export async function withGraph<T>(
  config: Config,
  document: string,
  work: (query: Query<T>) => Promise<void>,
): Promise<void> {
  if (await isServiceRunning(config)) {
    await work((variables) => runOnGraph<T>(config, document, variables));
    return;
  }
  await withOwnCore(config, (run) => work(async (variables) => dataOf<T>(await run(document, variables))));
}

function dataOf<T>({ data, errors }: ExecutionResult, names: ArgumentNames = {}): T {
  const [error] = errors ?? [];
  if (error) {
    const code = (error.extensions?.code as ErrorCode | undefined) ?? 'INTERNAL_ERROR';
    throw new ServiceError(code, asOnCommandLine(error.message, names));
  }
  return data as T;
}

/** Replaces `input.handOverTo`, and the advice `(handOverTo)`, by the option of the command line. */
function asOnCommandLine(message: string, names: ArgumentNames): string {
  return message.replace(
    /\binput\.(\w+)|\((\w+)\)/g,
    (found, field: string | undefined, advised: string | undefined) => {
      const name = names[field ?? advised ?? ''];
      if (name === undefined) return found;
      return advised === undefined ? name : `(${name})`;
    },
  );
}

import type { ExecutionResult } from 'graphql';
import type { Config } from '../../platform/config/config.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { createLog } from '../../platform/log.ts';
import { knockAtOperatorDoor, type RunOperation } from '../operator/operator-door.ts';

/** What fields of the input are called on the command line: `{ name: '--name', email: '<email>' }`. */
export type ArgumentNames = Readonly<Record<string, string>>;

/**
 * Runs an operation on the graph as the operator: in the service that is running on the data folder, or, when none is, in
 * this process, which connects to the brokers that the operation asks. Errors: ServiceError, as the graph tells them, with
 * `names` in place of fields of the input.
 */
export async function runOnGraph<T>(
  config: Config,
  document: string,
  variables: Record<string, unknown> = {},
  names: ArgumentNames = {},
): Promise<T> {
  const answered = await knockAtOperatorDoor(config.dataDir, document, variables);
  return dataOf<T>(answered ?? (await runAlone(config, document, variables)), names);
}

/** Whether a service runs on the data folder. */
export const isServiceRunning = async ({ dataDir }: Config): Promise<boolean> =>
  (await knockAtOperatorDoor(dataDir, '{ __typename }', {})) !== null;

async function runAlone(
  config: Config,
  document: string,
  variables: Record<string, unknown>,
): Promise<ExecutionResult> {
  return withOwnCore(config, (run) => run(document, variables));
}

async function withOwnCore<T>(config: Config, work: (run: RunOperation) => Promise<T>): Promise<T> {
  const log = await createLog({ ...config, logLevel: 'error' }, false);
  // The whole service: a command that a running one answers is done long before this would be loaded.
  const { startCore } = await import('../service-core.ts');
  const core = await startCore(config, { log });
  try {
    core.services.runtimes.startOnDemand();
    return await work(core.runAsOperator);
  } finally {
    await core.close();
  }
}

/** Runs one operation as often as is asked for, as `runOnGraph` does, without a start for each. */
export type Ask<T> = (variables: Readonly<Record<string, unknown>>) => Promise<T>;

/** For what asks page by page. Errors: those of `work`, and as of `runOnGraph`. */
export async function askingGraph<T>(
  config: Config,
  document: string,
  work: (ask: Ask<T>) => Promise<void>,
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

/** The graph says `input.handOverTo`, or `handOverTo` in parentheses as advice; whoever types commands knows an option. */
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

import type { ExecutionResult } from 'graphql';
import type { Config } from '../config.ts';
import { type ErrorCode, ServiceError } from '../errors.ts';
import { createLog } from '../log.ts';
import { knockAtOperatorDoor } from '../operator-door.ts';
import { startCore } from '../service-core.ts';

/**
 * Runs an operation on the graph as the operator: in the service that is running on the data folder, or, when none is, in
 * this process, which connects to the brokers that the operation asks. Errors: ServiceError, as the graph tells them.
 */
export async function runOnGraph<T>(
  config: Config,
  document: string,
  variables: Record<string, unknown> = {},
): Promise<T> {
  const answered = await knockAtOperatorDoor(config.dataDir, document, variables);
  return dataOf<T>(answered ?? (await runAlone(config, document, variables)));
}

async function runAlone(
  config: Config,
  document: string,
  variables: Record<string, unknown>,
): Promise<ExecutionResult> {
  const log = await createLog({ ...config, logLevel: 'error' }, false);
  const core = await startCore(config, { log });
  try {
    core.services.runtimes.startOnDemand();
    return await core.runAsOperator(document, variables);
  } finally {
    await core.close();
  }
}

function dataOf<T>({ data, errors }: ExecutionResult): T {
  const [error] = errors ?? [];
  if (error)
    throw new ServiceError((error.extensions?.code as ErrorCode | undefined) ?? 'INTERNAL_ERROR', error.message);
  return data as T;
}

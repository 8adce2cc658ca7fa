import { LogEnded, type OpenedLog, type RedisLogOptions } from './log-options.ts';

/**
 * Resolves once this node is part of the cluster. Rejects with a LogEnded when that is refused, with the reason of `signal` when it
 * is given up.
 */
export async function openRedisLog(options: RedisLogOptions): Promise<OpenedLog> {
  options.signal?.throwIfAborted();
  throw new LogEnded('CLOSED', 'the log is not written yet');
}

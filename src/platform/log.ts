import { type Logger, pino } from 'pino';
import type { Config } from './config/config.ts';

const SECRETS = ['password', 'token', 'secret', 'authorization', 'clientKey', 'sealedPassword', 'sealedClientKey'];

/** Writes to standard error. Standard output is for the results of commands. */
export async function createLog({ logLevel, logFormat }: Config, isTerminal: boolean): Promise<Logger> {
  const options = { level: logLevel, redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '***' } };
  if ((logFormat ?? (isTerminal ? 'pretty' : 'json')) === 'json') return pino(options, pino.destination(2));
  // Only loaded for a terminal.
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ destination: 2, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }));
}

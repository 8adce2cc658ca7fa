import { type Logger, pino } from 'pino';
import type { Config } from './config/config.ts';

/** Fields that never reach a log line, wherever they are. */
const SECRETS = ['password', 'token', 'secret', 'authorization', 'clientKey', 'sealedPassword', 'sealedClientKey'];

/** Structured lines on standard error, so that standard output stays for what commands answer. */
export async function createLog({ logLevel, logFormat }: Config, isTerminal: boolean): Promise<Logger> {
  const options = { level: logLevel, redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '***' } };
  if ((logFormat ?? (isTerminal ? 'pretty' : 'json')) === 'json') return pino(options, pino.destination(2));
  // Loaded only where somebody reads along.
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ destination: 2, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }));
}

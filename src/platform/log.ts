import { type Logger, pino } from 'pino';
import type { Config } from './config/config.ts';

const SECRETS = ['password', 'token', 'secret', 'authorization', 'clientKey', 'sealedPassword', 'sealedClientKey'];

/** Writes to standard error. Standard output is for the results of commands. */
export async function createLog({ logLevel, logFormat }: Config, isTerminal: boolean): Promise<Logger> {
  const options = { level: logLevel, redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '***' } };
  const output = standardError();
  if ((logFormat ?? (isTerminal ? 'pretty' : 'json')) === 'json') return pino(options, output);
  // Only loaded for a terminal.
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' });
  return pino(options, { write: (line) => void output.write(pretty(line)) });
}

/** Lines that wait until they can be written. Further lines are dropped. */
const MAX_WAITING_BYTES = 1_048_576;

/** A full disk or a closed pipe does not end the service: without a listener, the call that logs would throw. */
export function standardError() {
  const output = pino.destination({ dest: 2, sync: true, maxLength: MAX_WAITING_BYTES });
  output.on('error', () => undefined);
  // Nothing else would write what waits.
  output.on('drop', () => output.flush());
  return output;
}

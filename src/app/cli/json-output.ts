import { pino } from 'pino';
import { standardError } from '../../platform/log.ts';

interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * Makes everything that a process writes to standard output and standard error a line of JSON like those of the log:
 * errors of the start, warnings of Node, and what libraries print. A collector of logs reads one format only.
 * `out` writes the results of the command as they are.
 */
export function writeOnlyJson(process: NodeJS.Process): Output {
  const log = pino(standardError());
  const out = process.stdout.write.bind(process.stdout);
  for (const stream of [process.stdout, process.stderr]) {
    stream.write = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
      const text = (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()).trimEnd();
      if (text !== '') log.warn(text);
      const done = rest.find((each) => typeof each === 'function');
      if (done) queueMicrotask(done as () => void);
      return true;
    };
  }
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, warning.message));
  return { out, err: (text) => log.error(text.trimEnd().replaceAll(/^error: /gm, '')) };
}

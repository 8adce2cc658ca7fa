import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { ServiceError } from '../../platform/errors.ts';

/** Prompts twice for a new secret at a terminal. Errors: INVALID if the inputs differ or are missing. */
export async function promptForSecret(label: string, terminal: Readable, shown: Writable): Promise<string> {
  const secret = await lineOf(`${label}: `, terminal, shown);
  if ((await lineOf('Repeat: ', terminal, shown)) === secret) return secret;
  throw new ServiceError('INVALID', 'The two inputs differ: try again');
}

function lineOf(prompt: string, input: Readable, shown: Writable): Promise<string> {
  // Readline edits the line; its output is discarded.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  shown.write(prompt);
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    // Also emitted for Ctrl-C and Ctrl-D. After a line the rejection has no effect.
    lines.once('close', () => {
      shown.write('\n');
      reject(new ServiceError('INVALID', 'The input is missing'));
    });
  });
}

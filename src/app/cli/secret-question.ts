import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { ServiceError } from '../../platform/errors.ts';

/** Asks somebody at a terminal for a new secret, twice, and shows nothing of it. Errors: INVALID when they differ or none is given. */
export async function askForSecret(question: string, terminal: Readable, shown: Writable): Promise<string> {
  const secret = await lineOf(`${question}: `, terminal, shown);
  if ((await lineOf('Once more: ', terminal, shown)) === secret) return secret;
  throw new ServiceError('INVALID', 'The second time it was not the same');
}

function lineOf(question: string, input: Readable, shown: Writable): Promise<string> {
  // Readline lets the line be edited; what it would show goes nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  shown.write(question);
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    // By Ctrl-C or Ctrl-D, too; after a line it has no effect.
    lines.once('close', () => {
      shown.write('\n');
      reject(new ServiceError('INVALID', 'Nothing was given'));
    });
  });
}

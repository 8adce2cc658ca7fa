import { readFile } from 'node:fs/promises';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { requireUniqueKeys } from '../../platform/text/repeated-key.ts';
import type { Terminal } from './terminal.ts';

/** File name that stands for standard input. */
export const STANDARD_INPUT = '-';

/** Reads passwords by user name. They are no arguments, because all users of a machine can read arguments. */
export async function readPasswords(
  terminal: Terminal,
  file: string,
): Promise<{ username: string; password: string }[]> {
  const value = parseJson(file, await readText(terminal, file));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid([{ path: file, reason: 'must be a JSON object with passwords by user name' }]);
  }
  return Object.entries(value).map(([username, password]) => {
    if (typeof password === 'string') return { username, password };
    throw invalid([{ path: `${file}: ${username}`, reason: 'must be a string' }]);
  });
}

export const readText = ({ readInput }: Terminal, file: string): Promise<string> =>
  file === STANDARD_INPUT ? readInput() : readTextFile(file);

export const readTextFile = (file: string): Promise<string> =>
  readFile(file, 'utf8').then(
    (text) => text.replace(/^\uFEFF/, ''),
    (cause: unknown) => {
      throw new ServiceError('INVALID', `The file ${file} cannot be read`, { cause });
    },
  );

export function parseJson(file: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const what = file === STANDARD_INPUT ? 'Standard input' : `The file ${file}`;
    throw new ServiceError('INVALID', `${what} is not valid JSON`, { cause });
  }
  requireUniqueKeys(text);
  return value;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { runCommand } from '../../src/app/cli/program.ts';
import { PROCESS_ENV } from './process-env.ts';

interface CommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, which saves the start of a process. `input`: standard input. */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<CommandRun> {
  const output = { out: '', err: '' };
  const code = await runCommand(args, {
    env: { LOG_LEVEL: 'silent', ...env },
    out: (text) => {
      output.out += text;
    },
    err: (text) => {
      output.err += text;
    },
    readInput: async () => input,
    isTerminal: false,
    stop: new AbortController().signal,
    onBug: () => undefined,
  });
  return { code, ...output };
}

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Runs a command in a process that a test kills. */
export function startCommand(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child: ChildProcess = spawn(process.execPath, [main, ...args], {
    env: { ...PROCESS_ENV, LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exit = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exit;
  };
  onTestFinished(kill);
  return { kill };
}

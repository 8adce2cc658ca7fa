import type { Command } from 'commander';
import { createProgram, runCommand } from '../../src/app/cli/program.ts';
import type { Terminal } from '../../src/app/cli/terminal.ts';

export interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, which saves the start of a process. */
export async function runHere(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Run> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommand(args, terminal(env, out, err, input));
  return { code, out: out.join(''), err: err.join('') };
}

const terminal = (env: Record<string, string>, out: string[], err: string[], input: string): Terminal => ({
  env,
  out: (text) => out.push(text),
  err: (text) => err.push(text),
  readInput: async () => input,
  isTerminal: false,
  stop: new AbortController().signal,
  onBug: () => undefined,
});

/** A valid command line of each command: the values have the names of the arguments and of the required options. */
export function everyCommandLine(values: Readonly<Record<string, string>>): string[][] {
  const below = (command: Command, words: readonly string[]): string[][] => {
    if (command.commands.length > 0) return command.commands.flatMap((one) => below(one, [...words, one.name()]));
    const needed = command.registeredArguments.filter(({ required }) => required).map((one) => one.name());
    const options = command.options
      .filter(({ mandatory }) => mandatory)
      .flatMap(({ long }) => [long ?? '', values[long?.slice(2) ?? ''] ?? 'x']);
    return [[...words, ...needed.map((name) => values[name] ?? 'x'), ...options]];
  };
  return below(createProgram(terminal({}, [], [], '')), []);
}

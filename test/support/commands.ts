import { runCommand } from '../../src/app/cli/program.ts';

export interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, which saves the start of a process. */
export async function runHere(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Run> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommand(args, {
    env,
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    readInput: async () => input,
    isTerminal: false,
    stop: new AbortController().signal,
    onBug: () => undefined,
  });
  return { code, out: out.join(''), err: err.join('') };
}

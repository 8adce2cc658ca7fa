import type { Config } from '../../platform/config/config.ts';

export interface Terminal {
  /** Reads standard input to its end. With a label, a user at a terminal is prompted for a new secret without echo. */
  readonly readInput: (label?: string) => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly isTerminal: boolean;
  /** Whether standard output is a terminal. Default: false. */
  readonly isOutTerminal?: boolean;
  readonly stop: AbortSignal;
  /** Registers the listener for uncaught errors. The process exits with code 1 after it. */
  readonly onBug: (listener: (error: unknown) => void) => void;
}

export interface Cli extends Terminal {
  readonly config: Config;
}

/** Makes a command of commander from a function that receives its arguments and options. */
export type ToAction = <Args extends unknown[]>(
  run: (cli: Cli, ...args: Args) => Promise<void>,
) => (...args: Args) => Promise<void>;

export interface JsonOption {
  readonly json?: boolean;
}

export function print({ out }: Terminal, { json }: JsonOption, value: unknown, text: string): void {
  out(json ? `${JSON.stringify(value)}\n` : text);
}

/** The command printed a negative result, so the exit code is 1. No error is printed. */
export class NegativeResult extends Error {}

/** Replaces control characters, which a terminal would interpret. Names may contain any character. */
export const shown = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');

export const textOfLines = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(shown));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return textOfLines(rows.map((row) => lineOf(row, widths).trimEnd()));
}

const lineOf = (row: readonly string[], widths: readonly number[]): string =>
  row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ');

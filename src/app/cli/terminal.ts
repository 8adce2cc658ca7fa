/** What a command may touch of the process. */
export interface Terminal {
  /** Standard input to its end. With a question, somebody at a terminal is asked for a new secret, which is not shown. */
  readonly readInput: (question?: string) => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Somebody reads along. */
  readonly isTerminal: boolean;
  /** Aborted when the process is asked to end. */
  readonly stop: AbortSignal;
  /** Told of what nobody caught, just before the process ends by it with code 1. */
  readonly onBug: (listener: (error: unknown) => void) => void;
}

/** The answer is told already, and is no error; the exit code says once more that it is no. */
export class AnsweredNo extends Error {}

/** Names are whatever somebody gave; a terminal would obey what they hold. */
export const shown = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');

/** Rows as aligned columns; what is in them may be anything. */
export function table(told: readonly (readonly string[])[]): string {
  const rows = told.map((row) => row.map(shown));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

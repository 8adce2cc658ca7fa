import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ThreadExit } from '../../protocol/hosting/worker-thread.ts';

/** The file in the folder of the broker outlives the worker thread and the service. */
const FILE = 'failure.json';
/** Failures of the same kind after which the next start searches for the record that causes them. */
const REPEATED = 2;

/** Counts consecutive failures of the same kind soon after the start of a broker. */
export class FailureRecord {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, FILE);
  }

  failed(end: ThreadExit): void {
    const kind = kindOf(end);
    const previous = this.#read();
    const failure = { kind, reason: end.reason, count: previous?.kind === kind ? previous.count + 1 : 1 };
    try {
      writeFileSync(this.#file, JSON.stringify(failure), { mode: 0o600 });
    } catch {
      // If the folder is missing or cannot be written, the next start fails and reports it.
    }
  }

  /** Called when the broker has run long enough, or was closed: the next failure has a new reason. */
  clear(): void {
    rmSync(this.#file, { force: true });
  }

  get suspicion(): string | undefined {
    const failure = this.#read();
    return failure !== null && failure.count >= REPEATED ? failure.reason : undefined;
  }

  #read(): { readonly kind: string; readonly reason: string; readonly count: number } | null {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8'));
    } catch {
      return null;
    }
  }
}

/** Identifies a failure by the top of its stack, because reasons may contain names; without a stack by its reason. */
function kindOf({ reason, stack }: ThreadExit): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.slice(0, 3).join('\n').slice(0, 1_000) || reason.slice(0, 1_000);
}

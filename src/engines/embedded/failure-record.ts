import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ThreadExit } from '../../protocol/hosting/worker-thread.ts';

/** In the folder of the broker, so that it outlives a start that failed, and the service. */
const FILE = 'failure.json';
/** Failures of the same kind after which the next start looks for the record at fault. */
const REPEATED = 2;

interface Failure {
  readonly kind: string;
  readonly reason: string;
  readonly count: number;
}

/** How often in a row a broker ended in the same way soon after its start. */
export class FailureRecord {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, FILE);
  }

  failed(end: ThreadExit): void {
    const kind = kindOf(end);
    const before = this.#read();
    const failure: Failure = { kind, reason: end.reason, count: before?.kind === kind ? before.count + 1 : 1 };
    try {
      writeFileSync(this.#file, JSON.stringify(failure), { mode: 0o600 });
    } catch {
      // A folder that cannot be written, or is gone, is what the next start fails by.
    }
  }

  /** It ran long enough, or was closed: what comes next is another failure. */
  clear(): void {
    rmSync(this.#file, { force: true });
  }

  /** The reason of failures that repeat; `undefined`: they do not. */
  get suspicion(): string | undefined {
    const failure = this.#read();
    return failure !== null && failure.count >= REPEATED ? failure.reason : undefined;
  }

  #read(): Failure | null {
    try {
      // Written by `failed`.
      return JSON.parse(readFileSync(this.#file, 'utf8')) as Failure;
    } catch {
      return null;
    }
  }
}

/** Where it was thrown, since reasons may hold names; without a stack the reason. */
function kindOf({ reason, stack }: ThreadExit): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.slice(0, 3).join('\n').slice(0, 1_000) || reason.slice(0, 1_000);
}

import { ServiceError } from '../../../platform/errors.ts';
import type { AccessWrite } from './access-change.ts';
import type { WriteReport } from './access-report.ts';

interface Waiting {
  readonly write: AccessWrite;
  readonly resolve: (report: WriteReport) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of changes that wait. A single write may have more if no other write waits. */
const MAX_WAITING = 10_000;
/** Maximum number of changes of merged writes, so that early writes do not wait for late ones. */
const MAX_MERGED = 200;

/**
 * Writes in the order of their arrival. Those that arrive during a run are merged into the next one, which costs one
 * read before and one after instead of two for each write.
 */
export class WriteQueue {
  readonly #run: (writes: readonly AccessWrite[]) => Promise<readonly WriteReport[]>;
  #waiting: Waiting[] = [];
  #waitingChanges = 0;
  #isRunning = false;

  /** `run` returns one report per write, or rejects for all of them. */
  constructor(run: (writes: readonly AccessWrite[]) => Promise<readonly WriteReport[]>) {
    this.#run = run;
  }

  /** Errors: BROKER_TIMEOUT if MAX_WAITING changes wait, and errors of the run. */
  async write(write: AccessWrite): Promise<WriteReport> {
    const count = this.#waitingChanges + write.changes.length;
    if (this.#waiting.length > 0 && count > MAX_WAITING) throw queueFull();
    this.#waitingChanges = count;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const merged = this.#nextMerged();
      try {
        const reports = await this.#run(merged.map(({ write }) => write));
        for (const [index, { resolve, reject }] of merged.entries()) {
          const report = reports[index];
          if (report) resolve(report);
          else reject(new Error('A write was executed without a report'));
        }
      } catch (error) {
        for (const { reject } of merged) reject(error);
      }
    }
    this.#isRunning = false;
  }

  #nextMerged(): Waiting[] {
    let changes = 0;
    const next = this.#waiting.findIndex(({ write }, index) => {
      changes += write.changes.length;
      return index > 0 && changes > MAX_MERGED;
    });
    const merged = this.#waiting.splice(0, next === -1 ? this.#waiting.length : next);
    for (const { write } of merged) this.#waitingChanges -= write.changes.length;
    return merged;
  }
}

const queueFull = () =>
  new ServiceError('BROKER_TIMEOUT', `${MAX_WAITING} changes of the access control of this broker wait already`, {
    info: { retryAfterSeconds: 5 },
  });

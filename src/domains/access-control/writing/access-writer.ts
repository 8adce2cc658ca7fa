import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessChange } from './access-change.ts';
import type { WriteReport } from './access-report.ts';
import { blastRadius, type ConnectedNow } from './kicks.ts';
import { reportOf } from './write-report.ts';
import { type WriteParts, WriteRun } from './write-run.ts';

export interface AccessWriterOptions extends Omit<WriteParts, 'readBackMs' | 'mayControl'> {
  /** Who is connected. Where that cannot be found out, the report says that it is not complete. */
  readonly connectedClients: () => Promise<ConnectedNow>;
  /** Longest wait for a broker to come back and be read after an answer was lost, milliseconds. Default 10,000. */
  readonly readBackMs?: number;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Whether the caller may change rights on `$CONTROL/`: administrators of the project, and this service itself. */
  readonly mayControl: boolean;
  /** As of the writer, for who does not need to know for sure. Default: the writer's. */
  readonly readBackMs?: number;
}

/** Lists that wait while one is carried out. */
const MAX_WAITING = 16;

/**
 * Writes the access control of one broker and says what became of it: APPLIED only what the broker answered and still has when
 * it is read again, or what it has although its answer was lost. A command that was lost and did not happen is REJECTED with the
 * code of the loss. Lists are carried out one after the other; MAX_WAITING may wait, more are RATE_LIMITED.
 */
export class AccessWriter {
  readonly #parts: Omit<WriteParts, 'mayControl'>;
  readonly #connectedClients: () => Promise<ConnectedNow>;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor({ connectedClients, readBackMs = 10_000, ...parts }: AccessWriterOptions) {
    this.#parts = { ...parts, readBackMs };
    this.#connectedClients = connectedClients;
  }

  /**
   * Errors: RATE_LIMITED, and those of a broker that cannot be read before anything is sent. Whatever happens to a change is in
   * the report.
   */
  async write(
    changes: readonly AccessChange[],
    { dryRun, mayControl, readBackMs }: WriteOptions,
  ): Promise<WriteReport> {
    const parts = { ...this.#parts, mayControl, ...(readBackMs === undefined ? {} : { readBackMs }) };
    if (dryRun) return this.#run(parts, changes, false);
    if (this.#waiting >= MAX_WAITING) {
      throw new ServiceError('RATE_LIMITED', 'Too many changes of this broker are waiting', {
        info: { retryAfterSeconds: 5 },
      });
    }
    this.#waiting += 1;
    const report = this.#tail.then(() => {
      this.#waiting -= 1;
      return this.#run(parts, changes, true);
    });
    this.#tail = report.catch(() => undefined);
    return report;
  }

  async #run(parts: WriteParts, changes: readonly AccessChange[], isReal: boolean): Promise<WriteReport> {
    const run = await WriteRun.planned(parts, await parts.index.current(), changes);
    // Afterwards those who were disconnected are not connected.
    const connected = await this.#connected(run);
    if (isReal) await run.execute();
    return runInSlices(reportOf(run.progress, await runInSlices(blastRadius(run.kicks(), connected))));
  }

  async #connected(run: WriteRun): Promise<ConnectedNow> {
    for (const { usernames, anonymous } of run.kicks()) {
      if (!anonymous && usernames.length === 0) continue;
      return this.#connectedClients().catch(() => ({ clients: [], isComplete: false }));
    }
    return { clients: [], isComplete: true };
  }
}

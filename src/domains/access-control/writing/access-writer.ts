import { ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit, QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessChange } from './access-change.ts';
import { reportOf, type WriteReport } from './access-report.ts';
import { blastRadius, type ConnectedNow } from './kicks.ts';
import { type WriteParts, WriteRun } from './write-run.ts';

export interface AccessWriterOptions extends Omit<WriteParts, 'readBackMs' | 'mayControl'> {
  /** If it fails, `blastRadius.isComplete` is `false`. */
  readonly connectedClients: () => Promise<ConnectedNow>;
  /** Timeout for reconnecting to the broker and reading it after a lost response. Default: 10,000. */
  readonly readBackMs?: number;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly mayControl: boolean;
  readonly readBackMs?: number;
}

const MAX_WAITING = 16;

/** A change is APPLIED if a later read shows it. Lists of changes are executed one after the other. */
export class AccessWriter {
  readonly #options: AccessWriterOptions;
  readonly #queue = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: MAX_WAITING });

  constructor(options: AccessWriterOptions) {
    this.#options = options;
  }

  /** Errors: RATE_LIMITED if MAX_WAITING lists wait, and errors of the first read. Later errors are in the report. */
  async write(changes: readonly AccessChange[], { dryRun, ...options }: WriteOptions): Promise<WriteReport> {
    const { readBackMs = this.#options.readBackMs ?? 10_000, mayControl } = options;
    const parts = { ...this.#options, readBackMs, mayControl };
    if (dryRun) return this.#run(parts, changes, false);
    return this.#queue.run(() => this.#run(parts, changes, true)).catch(refuseFull);
  }

  async #run(parts: WriteParts, changes: readonly AccessChange[], isReal: boolean): Promise<WriteReport> {
    const run = await WriteRun.planned(parts, await parts.index.current(), changes);
    // The list must be read before the commands disconnect clients.
    const connected = await this.#connected(run);
    if (isReal) await run.execute();
    return runInSlices(reportOf(run.progress, await runInSlices(blastRadius(run.kicks(), connected))));
  }

  async #connected(run: WriteRun): Promise<ConnectedNow> {
    for (const { usernames, anonymous } of run.kicks()) {
      if (!anonymous && usernames.length === 0) continue;
      return this.#options.connectedClients().catch(() => ({ clients: [], isComplete: false }));
    }
    return { clients: [], isComplete: true };
  }
}

function refuseFull(error: unknown): never {
  if (!(error instanceof QueueFull)) throw error;
  throw new ServiceError('RATE_LIMITED', 'Too many changes to the access control of this broker are waiting', {
    info: { retryAfterSeconds: 5 },
  });
}

import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessWrite } from './access-change.ts';
import { reportOf, type WriteReport } from './access-report.ts';
import { blastRadius, type ConnectedNow, connectedByAccount, kicksOf } from './kicks.ts';
import { type WriteParts, WriteRun } from './write-run.ts';

export interface AccessWriterOptions extends Omit<WriteParts, 'readBackMs'> {
  /** If it fails, `blastRadius.isComplete` is `false`. */
  readonly connectedClients: () => Promise<ConnectedNow>;
  /** Timeout for reconnecting to the broker and reading it after a lost response. Default: 10,000. */
  readonly readBackMs?: number;
}

/** A change is APPLIED if a later read shows it. Runs are executed one after the other. */
export class AccessWriter {
  readonly #options: AccessWriterOptions;
  readonly #queue = new ConcurrencyLimit({ maxRunning: 1 });

  constructor(options: AccessWriterOptions) {
    this.#options = options;
  }

  /**
   * Executes several writes in one run, in order, and returns the report of each. A write whose changes are refused
   * does not affect the others. Errors: those of the first read. Later errors are in the reports.
   */
  write(writes: readonly AccessWrite[], readBackMs = this.#options.readBackMs ?? 10_000): Promise<WriteReport[]> {
    return this.#queue.run(async () => {
      const run = await this.#planned(writes, readBackMs);
      // The list must be read before the commands disconnect clients.
      const connected = await this.#connected(run);
      await run.execute();
      return reportsOf(run, connected);
    });
  }

  /** Returns what `write` would do. Errors: those of the read. */
  async dryRun(write: AccessWrite): Promise<WriteReport> {
    const run = await this.#planned([write], 0);
    const [report] = await reportsOf(run, await this.#connected(run));
    if (report === undefined) throw new Error('A write was planned without a report');
    return report;
  }

  async #planned(writes: readonly AccessWrite[], readBackMs: number): Promise<WriteRun> {
    const { index } = this.#options;
    return WriteRun.planned({ ...this.#options, readBackMs }, await index.current(), writes);
  }

  async #connected(run: WriteRun): Promise<ConnectedNow> {
    for (const { usernames, anonymous } of kicksOf(run.progress)) {
      if (!anonymous && usernames.length === 0) continue;
      return this.#options.connectedClients().catch(() => ({ clients: [], isComplete: false }));
    }
    return { clients: [], isComplete: true };
  }
}

async function reportsOf(run: WriteRun, connected: ConnectedNow): Promise<WriteReport[]> {
  const byAccount = connectedByAccount(connected);
  const reports: WriteReport[] = [];
  for (const progress of run.writes) {
    const radius = await runInSlices(blastRadius(kicksOf(progress), byAccount));
    reports.push(await runInSlices(reportOf(progress, radius)));
  }
  return reports;
}

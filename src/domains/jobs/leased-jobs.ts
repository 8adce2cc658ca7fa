import type { Logger } from 'pino';
import type { JobKind } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { settledWithin } from '../../platform/scheduling/within.ts';
import type { Lease, Leases } from '../../platform/storage/leases/leases.ts';
import type { Job, NewJob } from './job.ts';
import type { JobStore } from './job-store.ts';
import type { RunningJob } from './running-job.ts';

/** A job that this process runs as long as it has the lease of the job. */
export interface HeldJob {
  readonly running: RunningJob;
  /** Whether the work must stop without an end of the job: another process continues it. */
  isStopped(): boolean;
}

interface LeasedJobsOptions {
  readonly store: JobStore;
  readonly leases: Leases;
  readonly kind: JobKind;
  /** Of this process at a time. */
  readonly maxRunning: number;
  /** Continues a job of a process that has ended. Stores what becomes of it; must not throw a ServiceError. */
  readonly perform: (job: Job, held: HeldJob) => Promise<unknown>;
  readonly log: Logger;
}

/** The processes on one database. */
interface Processes {
  onChange(listener: () => void): void;
}

const SWEEP_MS = 10_000;
/** Work that waits for a broker ends when the link to it is closed. */
const CLOSE_MS = 2_000;

/**
 * Jobs of one kind that run in the process that began them, which has the lease `job:<id>`. If that process ends,
 * another one gets the lease and continues the job. A process looks for such jobs at its start, when processes come or
 * go, and every SWEEP_MS; without other processes only at its start.
 */
export class LeasedJobs {
  readonly #options: LeasedJobsOptions;
  /**
   * The jobs of this process, also those that are being begun, until their lease is released. The database grants a
   * lease of this process to it once more, so only this set keeps a sweep from running such a job a second time.
   */
  readonly #ids = new Set<string>();
  readonly #works = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | null = null;
  #sweep: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LeasedJobsOptions) {
    this.#options = options;
  }

  /** Continues jobs of other processes from now on. `null`: there are no others. */
  start(processes: Processes | null): void {
    this.#sweepSoon();
    if (processes === null) return;
    processes.onChange(() => this.#sweepSoon());
    this.#timer = setInterval(() => this.#sweepSoon(), SWEEP_MS).unref();
  }

  /**
   * Begins a job and does its work. Errors: IN_USE with the text `busy`; RATE_LIMITED if `maxRunning` jobs run here;
   * NOT_FOUND (the broker); DATABASE_UNAVAILABLE; those of the work.
   */
  async run<T>(job: Omit<NewJob, 'kind'>, busy: string, work: (held: HeldJob) => Promise<T>): Promise<T> {
    const { store, kind, maxRunning } = this.#options;
    if (this.#ids.size >= maxRunning) {
      throw new ServiceError('RATE_LIMITED', `At most ${maxRunning} such jobs run at a time: try again later`);
    }
    // With the lease first, so that no other process takes the job for one without a process.
    const id = newId('job');
    return this.#withLease(id, async (lease) => {
      if (lease === null) throw new ServiceError('DATABASE_UNAVAILABLE', 'The database grants no lease for the job');
      return this.#hold(lease, await store.begin({ ...job, kind }, busy, id), work);
    });
  }

  /** Stops the work, and waits at most CLOSE_MS for it. Other processes may then continue the jobs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#sweep;
    await settledWithin(CLOSE_MS, this.#works);
  }

  #sweepSoon(): void {
    const { log, kind } = this.#options;
    this.#sweep = this.#sweep
      .then(() => this.#continueAll())
      .catch((error: unknown) => log.warn({ err: error, kind }, 'jobs of other processes could not be continued'));
  }

  async #continueAll(): Promise<void> {
    const { store, kind, maxRunning } = this.#options;
    for (const { id } of await store.unfinished(kind)) {
      if (this.#isClosed || this.#ids.size >= maxRunning) return;
      if (!this.#ids.has(id)) await this.#continue(id);
    }
  }

  /** Resolves when it is known whether this process has the job. */
  #continue(id: string): Promise<void> {
    const { store, perform, log, kind } = this.#options;
    return new Promise((resolve, reject) => {
      this.#withLease(id, async (lease) => {
        const continued = lease && (await store.continue(id));
        if (lease === null || continued === null) return;
        const { job, running } = continued;
        log.info({ jobId: id, kind }, 'a job of another process, or of an earlier start, is continued');
        const work = this.#hold(lease, running, (held) => perform(job, held));
        resolve();
        await work.catch((error: unknown) => log.error({ err: error, jobId: id }, 'a job failed'));
      }).then(resolve, reject);
    });
  }

  /** `null`: another process has it. */
  async #withLease<T>(id: string, work: (lease: Lease | null) => Promise<T>): Promise<T> {
    this.#ids.add(id);
    const lease = this.#options.leases.want(`job:${id}`, () => undefined);
    try {
      return await work((await lease.attempt()) ? lease : null);
    } finally {
      await lease.release().finally(() => this.#ids.delete(id));
    }
  }

  async #hold<T>(lease: Lease, running: RunningJob, work: (held: HeldJob) => Promise<T>): Promise<T> {
    const isStopped = () => this.#isClosed || running.isLost || !lease.held;
    const done = untilStored(running, work({ running, isStopped }));
    this.#works.add(done);
    try {
      return await done;
    } finally {
      this.#works.delete(done);
    }
  }
}

async function untilStored<T>(running: RunningJob, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await running.close();
  }
}

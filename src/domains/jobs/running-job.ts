import { isEnd, type JobReport } from './job.ts';

interface RunningJobOptions {
  readonly id: string;
  /** As stored. */
  readonly done: number;
  /** Returns whether the job is still that of this process. Errors: those of the database. */
  write(report: JobReport): Promise<boolean>;
  discard(): Promise<void>;
  onFault(error: unknown): void;
}

/** Least time between two writes that do not change the state. */
const WRITE_MS = 1_000;

/**
 * A job that this process runs, as it is stored: a change of its state immediately, progress at most once per second.
 * Only the last report is kept until it is written. A write that fails is repeated every second until `close`.
 */
export class RunningJob {
  readonly id: string;
  readonly #options: RunningJobOptions;
  #done: number;
  #state: JobReport['state'] = 'RUNNING';
  #pending: JobReport | null = null;
  /** The next write does not wait. */
  #isUrgent = false;
  #writing: Promise<void> | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #isLost = false;
  #isClosed = false;

  constructor(options: RunningJobOptions) {
    this.#options = options;
    this.id = options.id;
    this.#done = options.done;
  }

  /** Whether another process has continued the job, or it was deleted. Reports are not stored any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get isStored(): boolean {
    return this.#pending === null && this.#writing === null;
  }

  /** Ignored after a report of the end. `isUrgent`: it is stored at once, as is a change of the state. */
  report(report: JobReport, isUrgent = false): void {
    if (this.#isLost || this.#isClosed || isEnd(this.#state)) return;
    this.#done = Math.max(this.#done, report.done);
    this.#isUrgent ||= isUrgent || report.state !== this.#state;
    this.#state = report.state;
    this.#pending = { ...report, done: this.#done };
    this.#writeSoon();
  }

  /** Resolves when the last report is stored, or could not be. */
  async flush(): Promise<void> {
    await this.#writing;
    // The end of that write has begun the next one.
    if (this.#pending !== null || this.#writing !== null) await this.#write();
  }

  /** Deletes the job, which was refused before it began. */
  async discard(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#options.discard();
  }

  /** Stores the last report. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
    if (this.#timer) clearTimeout(this.#timer);
  }

  #writeSoon(): void {
    if (this.#writing !== null) return;
    const waitMs = this.#isUrgent ? 0 : this.#writtenAt + WRITE_MS - performance.now();
    if (waitMs <= 0) void this.#write();
    else this.#timer ??= setTimeout(() => void this.#write(), waitMs).unref();
  }

  #write(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing ??= this.#writePending().finally(() => {
      this.#writing = null;
      if (this.#pending !== null && !this.#isClosed) this.#writeSoon();
    });
    return this.#writing;
  }

  async #writePending(): Promise<void> {
    const report = this.#pending;
    if (report === null) return;
    this.#pending = null;
    this.#isUrgent = false;
    this.#writtenAt = performance.now();
    try {
      if (await this.#options.write(report)) return;
      this.#isLost = true;
      this.#pending = null;
    } catch (error) {
      this.#pending ??= report;
      this.#isUrgent = false;
      this.#options.onFault(error);
    }
  }
}

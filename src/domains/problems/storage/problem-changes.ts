import type { Changes } from '../../../platform/storage/changes/changes.ts';
import { Rereading } from '../../../platform/storage/changes/rereading.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { StorageLog } from '../../../platform/storage/storage-log.ts';
import { PROBLEM_CHANGED, type ProblemRecord } from './problem-cache.ts';

/**
 * That a problem was opened or closed, or `OPENED` once more because it became more severe. `problem` is as it is
 * stored now, which may be after later changes, with the severity of that time.
 */
export interface ProblemChange {
  /** Grows by one with each change of all processes. */
  readonly sequence: number;
  readonly change: 'OPENED' | 'CLOSED';
  readonly at: Date;
  readonly problem: ProblemRecord;
}

interface ProblemChangesOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: StorageLog;
}

type Listener = () => void;

const PAGE = 500;
/** A process that ends after a write announces nothing. */
const READ_MS = 10_000;

/**
 * The openings and closings of all processes, in order and without gaps, from the database. A reader that must miss
 * nothing stores the sequence of the last change that it handled, and continues with `since` after a restart. Changes
 * are deleted with their problems, and when they are older than PROBLEM_RETENTION_DAYS.
 */
export class ProblemChanges {
  readonly #options: ProblemChangesOptions;
  readonly #listeners = new Set<Listener>();
  readonly #rereading: Rereading;
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  /** The last change that listeners know of. `null`: unknown until the first reading. */
  #position: number | null = null;

  constructor(options: ProblemChangesOptions) {
    this.#options = options;
    this.#rereading = new Rereading(options.log, () => this.#read());
    this.#stop = options.changes.on(PROBLEM_CHANGED, () => this.#readSoon());
  }

  /** The changes after a sequence, oldest first, at most `limit`. Errors: those of the database. */
  async since(sequence: number, limit = PAGE): Promise<ProblemChange[]> {
    const rows = await this.#options.db.problemChange.findMany({
      where: { sequence: { gt: sequence } },
      orderBy: { sequence: 'asc' },
      take: limit,
      include: { problem: true },
    });
    return rows.map(({ sequence, change, severity, at, problem }) => ({
      sequence,
      change: change === 'CLOSED' ? 'CLOSED' : 'OPENED',
      at,
      problem: { ...problem, severity: severity ?? problem.severity } as ProblemRecord,
    }));
  }

  /** The sequence of the last change; 0 before the first one. Errors: those of the database. */
  async last(): Promise<number> {
    return (await this.#options.db.problemCounter.findUnique({ where: { id: 1 } }))?.value ?? 0;
  }

  /**
   * Calls the listener after later changes, within ten seconds of the writes of other processes. It begins within that
   * time, so read `since` after this call, and again in the listener, to miss nothing. It must not throw.
   */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => this.#readSoon(), READ_MS).unref();
    this.#readSoon();
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#stop();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#listeners.clear();
    await this.#rereading.close();
  }

  #readSoon(): void {
    if (this.#listeners.size > 0) this.#rereading.listener('');
  }

  async #read(): Promise<void> {
    const last = await this.last();
    const isLater = this.#position !== null && last > this.#position;
    this.#position = last;
    if (isLater) for (const listener of this.#listeners) listener();
  }
}

import type { BrokerStorage } from './queue-storage.ts';

const STORAGE_FULL =
  'The queues of bridges take as much disk space as BRIDGE_STORAGE_MAX_MB allows: messages are dropped';

/** What a queue takes of the storage, and why its messages wait. Each change is reported once. */
export class QueueState {
  readonly #storage: BrokerStorage | undefined;
  #counted = 0;
  isStopped = false;
  #isStorageFull = false;
  #problem: string | null = null;
  readonly #openProblem: string | null;
  /** `null` when the problem has passed. */
  report: (reason: string | null) => void = () => undefined;

  /** `storage`: default unlimited. `openProblem` is reported first. */
  constructor(storage: BrokerStorage | undefined, openProblem: string | null) {
    this.#storage = storage;
    this.#openProblem = openProblem;
  }

  attach(report: (reason: string | null) => void): void {
    this.report = report;
    if (this.#openProblem !== null) report(this.#openProblem);
  }

  /** Whether the storage has room for the messages of the queue, if they have this size. */
  hasRoom(queueBytes: number): boolean {
    const hasRoom = this.#storage?.hasRoom(queueBytes - this.#counted) ?? true;
    if (hasRoom === this.#isStorageFull) {
      this.#isStorageFull = !hasRoom;
      this.report(hasRoom ? this.#problem : STORAGE_FULL);
    }
    return hasRoom;
  }

  /** Counts the size of the messages of the queue, in memory and on disk. */
  use(queueBytes: number): void {
    if (this.isStopped) return;
    this.#storage?.add(queueBytes - this.#counted);
    this.#counted = queueBytes;
  }

  /** No longer counts in the storage. */
  stop(): void {
    this.use(0);
    this.isStopped = true;
  }

  waits(reason: string): void {
    if (reason === this.#problem) return;
    this.#problem = reason;
    this.report(reason);
  }

  passed(): void {
    if (this.#problem === null) return;
    this.#problem = null;
    this.report(this.#isStorageFull ? STORAGE_FULL : null);
  }
}

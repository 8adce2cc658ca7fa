import { ConcurrencyLimit } from './concurrency-limit.ts';

/** Runs the work of each key one after the other. Errors: those of the work. */
export class SerialQueues {
  readonly #limits = new Map<string, ConcurrencyLimit>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const limit = this.#limits.get(key) ?? new ConcurrencyLimit({ maxRunning: 1 });
    this.#limits.set(key, limit);
    try {
      return await limit.run(work);
    } finally {
      if (limit.isIdle) this.#limits.delete(key);
    }
  }

  isRunning(key: string): boolean {
    return this.#limits.has(key);
  }

  waitingCount(key: string): number {
    return this.#limits.get(key)?.waitingCount ?? 0;
  }

  /** Resolves when all work that was started or queued so far is done. */
  async idle(): Promise<void> {
    await Promise.all(Array.from(this.#limits.values(), (limit) => limit.run(async () => undefined)));
  }
}

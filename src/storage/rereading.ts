import type { ChangeListener } from './changes.ts';
import type { StorageLog } from './storage-log.ts';

/** Reads again what a cache holds whenever a change of it is announced, and knows when that is done. */
export class Rereading {
  readonly listener: ChangeListener;
  readonly #underWay = new Set<Promise<void>>();

  constructor(log: StorageLog, read: (id: string) => Promise<void>) {
    this.listener = (id) => {
      const done = read(id)
        .catch((error: unknown) => log.error({ err: error, id }, 'what was changed could not be read again'))
        .finally(() => this.#underWay.delete(done));
      this.#underWay.add(done);
    };
  }

  /** Resolves when every reading that has begun has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}

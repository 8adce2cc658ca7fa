/**
 * Notifies all processes on the database of writes, so that caches and live state are updated: this process before
 * `announce` returns, others soon afterwards, at least once. The id `'*'` means any object of the kind. A process that
 * dies between its write and its announcement sends none.
 */
import type { Sealer } from '../encryption/sealed.ts';

export type Stop = () => void;

export type ChangeListener = (id: string) => void;

export const ANYTHING = '*';

export interface Changes {
  /** Never rejects. Announcements that were lost are replaced by `'*'` after a reconnect. */
  announce(kind: string, id: string): Promise<void>;
  on(kind: string, listener: ChangeListener): Stop;
  /** Signs announcements to other processes, and believes only signed ones. All processes must have the same key. */
  signWith?(signer: Pick<Sealer, 'sign' | 'verify'>): void;
  close(): Promise<void>;
}

export class LocalChanges implements Changes {
  readonly #listeners = new Map<string, Set<ChangeListener>>();

  async announce(kind: string, id: string): Promise<void> {
    this.notify(kind, id);
  }

  on(kind: string, listener: ChangeListener): Stop {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners);
    // A new function per call: the same listener may be added twice and removed once.
    const entry: ChangeListener = (id) => listener(id);
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
    };
  }

  notify(kind: string, id: string): void {
    for (const listener of this.#listeners.get(kind) ?? []) listener(id);
  }

  notifyAll(): void {
    for (const kind of this.#listeners.keys()) this.notify(kind, ANYTHING);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }
}

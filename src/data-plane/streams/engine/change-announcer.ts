import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamReport } from '../model/stream-report.ts';

const PROGRESS_MS = 100;

type Listener = (id: string, report: StreamReport) => void;

export class ChangeAnnouncer {
  readonly #reportOf: (id: string) => StreamReport | null;
  readonly #listeners = new Set<Listener>();
  readonly #soon = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(reportOf: (id: string) => StreamReport | null) {
    this.#reportOf = reportOf;
  }

  onChange(listener: Listener): Stop {
    // A new function for each call, so that each stop removes only its own registration of the same listener.
    const own: Listener = (id, report) => listener(id, report);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  now(id: string): void {
    this.#soon.delete(id);
    if (this.#listeners.size === 0) return;
    const report = this.#reportOf(id);
    if (report === null) return;
    for (const listener of this.#listeners) listener(id, report);
  }

  soon(id: string): void {
    this.#soon.add(id);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      for (const each of [...this.#soon]) this.now(each);
    }, PROGRESS_MS);
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#soon.clear();
    this.#listeners.clear();
  }
}

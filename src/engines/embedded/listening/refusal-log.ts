import type { ListenerInfo } from '../core/connection.ts';

/** Limits the log entries per minute, because clients can be refused as often as they like. */
const MAX_REPORTED = 20;
const PERIOD_MS = 60_000;

/** Reports why TLS listeners refuse clients: each reason of a listener once a minute, and at most 20 reasons in all. */
export class RefusalLog {
  readonly #report: (problem: string, reason: string) => void;
  readonly #reported = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(report: (problem: string, reason: string) => void) {
    this.#report = report;
    this.#timer = setInterval(() => this.#reported.clear(), PERIOD_MS).unref();
  }

  readonly refused = ({ number, port }: ListenerInfo, reason: string): void => {
    const problem = `TLS listener ${number} (port ${port}) refuses clients`;
    const key = `${problem}: ${reason}`;
    if (this.#reported.has(key) || this.#reported.size >= MAX_REPORTED) return;
    this.#reported.add(key);
    this.#report(problem, reason);
  };

  close(): void {
    clearInterval(this.#timer);
  }
}

import type { ListenerInfo } from '../core/connection.ts';

/** Anybody can be refused as often as they like. */
const MAX_TOLD = 20;
const FORGET_MS = 60_000;

/** Tells why TLS listeners let clients not in: each reason of a listener once a minute, and at most 20 of them in all. */
export class RefusalLog {
  readonly #tell: (problem: string, reason: string) => void;
  readonly #told = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(tell: (problem: string, reason: string) => void) {
    this.#tell = tell;
    this.#timer = setInterval(() => this.#told.clear(), FORGET_MS).unref();
  }

  readonly refused = ({ number, port }: ListenerInfo, reason: string): void => {
    const problem = `TLS listener ${number} (port ${port}) refuses clients`;
    const told = `${problem}: ${reason}`;
    if (this.#told.has(told) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(told);
    this.#tell(problem, reason);
  };

  close(): void {
    clearInterval(this.#timer);
  }
}

/** How late a deadline may be noticed. */
const PRECISION_MS = 1_000;

/** Names and the moment each is due. One timer for all, and none while there is nothing to wait for. */
export class Deadlines {
  readonly #onDue: (name: string) => void;
  readonly #due = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(onDue: (name: string) => void) {
    this.#onDue = onDue;
  }

  /** `due` is in epoch milliseconds. */
  set(name: string, due: number): void {
    this.#due.set(name, due);
    this.#timer ??= setInterval(() => this.#sweep(), PRECISION_MS).unref();
  }

  delete(name: string): void {
    this.#due.delete(name);
    if (this.#due.size === 0) this.close();
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #sweep(): void {
    const now = Date.now();
    for (const [name, due] of this.#due) {
      if (due > now) continue;
      this.delete(name);
      this.#onDue(name);
    }
  }
}

/** Maximum delay of a deadline. */
const PRECISION_MS = 1_000;

/** Deadlines by name, with one timer. `onDue` must not reject; the next call waits for its promise. */
export class Deadlines {
  readonly #onDue: (name: string) => Promise<void> | void;
  readonly #due = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #isSweeping = false;

  constructor(onDue: (name: string) => Promise<void> | void) {
    this.#onDue = onDue;
  }

  set(name: string, due: number): void {
    this.#due.set(name, due);
    this.#timer ??= setInterval(() => void this.#sweep(), PRECISION_MS).unref();
  }

  delete(name: string): void {
    this.#due.delete(name);
    if (this.#due.size === 0) this.close();
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const now = Date.now();
    for (const [name, due] of this.#due) {
      if (due > now || this.#timer === null) continue;
      this.delete(name);
      const done = this.#onDue(name);
      if (done !== undefined) await done;
    }
    this.#isSweeping = false;
  }
}

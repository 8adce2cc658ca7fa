interface ExecutedCall {
  readonly at: number;
  /** Sealed; `null` if the database has it. */
  response: string | null;
}

const MAX_CALLS = 10_000;
const MAX_UNSTORED_CHARACTERS = 20_000_000;

/**
 * Commands of other processes that this process has executed. An announcement may repeat one whose response could not
 * be stored, or is being stored; then it must not be executed again.
 *
 * Bounds: MAX_CALLS, MAX_UNSTORED_CHARACTERS of responses, and `maxAgeMs`. Beyond them the oldest are evicted, and are
 * executed again if they are repeated.
 */
export class ExecutedCallCache {
  readonly #maxAgeMs: number;
  /** By id, the oldest first. */
  readonly #calls = new Map<string, ExecutedCall>();
  #characters = 0;

  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  isStored(id: string): boolean {
    return this.#calls.get(id)?.response === null;
  }

  /** The response of an executed call, or `null`. */
  unstored(id: string): string | null {
    return this.#calls.get(id)?.response ?? null;
  }

  add(id: string, response: string): void {
    const at = performance.now();
    this.#calls.set(id, { at, response });
    this.#characters += response.length;
    for (const [oldest, call] of this.#calls) {
      const isWithin = this.#calls.size <= MAX_CALLS && this.#characters <= MAX_UNSTORED_CHARACTERS;
      if (isWithin && at - call.at <= this.#maxAgeMs) return;
      this.stored(oldest);
      this.#calls.delete(oldest);
    }
  }

  stored(id: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#characters -= call.response?.length ?? 0;
    call.response = null;
  }
}

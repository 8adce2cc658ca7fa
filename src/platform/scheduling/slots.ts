/** Lets so many pieces of work run at once; the others wait, first come first served. Who waits is bounded by who may ask. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Who comes now would wait behind so many; null: would not wait. */
  get ahead(): number | null {
    return this.#free > 0 ? null : this.#waiting.length;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      // Handed over without a moment of being free, so that nobody who comes now overtakes.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/** Collects what has to be undone, last opened first; a failure half-way and a stop take the same road. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** What was just opened. */
  keep<Part extends { close(): unknown }>(part: Part): Part {
    this.add(() => part.close());
    return part;
  }

  readonly close = async (): Promise<void> => {
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close();
  };
}

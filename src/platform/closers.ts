/** Collects close functions and calls them in reverse order, both after a failed start and at shutdown. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  keep<Part extends { close(): unknown }>(part: Part): Part {
    this.add(() => part.close());
    return part;
  }

  readonly close = async (): Promise<void> => {
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close();
  };
}

/** Bounds the requests in progress of one network. Behind a proxy, connections do not show which network they serve. */
export class RequestsPerNetwork {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  enter(network: string): boolean {
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#max) return false;
    this.#counts.set(network, count + 1);
    return true;
  }

  leave(network: string): void {
    const count = this.#counts.get(network) ?? 0;
    if (count > 1) this.#counts.set(network, count - 1);
    else this.#counts.delete(network);
  }
}

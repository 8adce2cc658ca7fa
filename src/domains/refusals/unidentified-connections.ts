interface Opened {
  readonly address: string;
  readonly listenerPort: number;
}

/** Maximum number of connections without an admitted client. More are forgotten, and their addresses are unknown. */
const MAX_OPENED = 100;
/** Mosquitto closes a connection without CONNECT after 90 s at most. If it is still here, its line was lost. */
const MAX_SILENT_MS = 120_000;

/**
 * The connections of Mosquitto that have no client yet. The log of 2.0 and 2.1.0 names their address when they are
 * opened, but not when they are refused, so the address of a refused one is known only if there is no other address.
 */
export class UnidentifiedConnections {
  readonly #opened = new Map<string, Opened & { readonly at: number }>();
  /** Number of those that were closed, without the knowledge which. */
  #closed = 0;

  opened(address: string, port: number, listenerPort: number): void {
    if (this.#opened.size >= MAX_OPENED) this.clear();
    this.#opened.set(`${address}:${port}`, { address, listenerPort, at: performance.now() });
  }

  has(address: string, port: number): boolean {
    return this.#opened.has(`${address}:${port}`);
  }

  /** The address from which all of them come; `null` if there is none, or several. */
  get onlyAddress(): string | null {
    const [first, ...others] = new Set([...this.#opened.values()].map(({ address }) => address));
    return others.length > 0 ? null : (first ?? null);
  }

  /** Removes a connection that a later line identifies. Returns `null` if it is not known. */
  identified(address: string, port: number): Opened | null {
    const key = `${address}:${port}`;
    const found = this.#opened.get(key) ?? null;
    this.#opened.delete(key);
    this.#settle();
    return found;
  }

  /** Call it when a connection was closed that the line does not identify. Returns what is certain about it. */
  closed(): Partial<Opened> {
    const since = performance.now() - MAX_SILENT_MS;
    for (const [key, { at }] of this.#opened) if (at < since) this.#opened.delete(key);
    const all = [...this.#opened.values()];
    const [first] = all;
    if (first === undefined) return {};
    this.#closed += 1;
    this.#settle();
    return {
      ...(all.every(({ address }) => address === first.address) && { address: first.address }),
      ...(all.every(({ listenerPort }) => listenerPort === first.listenerPort) && { listenerPort: first.listenerPort }),
    };
  }

  #settle(): void {
    if (this.#closed >= this.#opened.size) this.clear();
  }

  clear(): void {
    this.#opened.clear();
    this.#closed = 0;
  }
}

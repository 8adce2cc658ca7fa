const LARGEST = 65_535;

/**
 * The packet ids of one connection, in turn: none is given out again before it was given back [MQTT-2.2.1-3]. mqtt.js, which has
 * the ids of SUBSCRIBE and UNSUBSCRIBE from here, takes it as its `messageIdProvider`.
 */
export class PacketIds {
  readonly #used = new Set<number>();
  #last = 0;

  /** Null: all are in use. */
  allocate(): number | null {
    if (this.#used.size >= LARGEST) return null;
    do this.#last = (this.#last % LARGEST) + 1;
    while (this.#used.has(this.#last));
    this.#used.add(this.#last);
    return this.#last;
  }

  getLastAllocated(): number {
    return this.#last;
  }

  register(id: number): boolean {
    if (this.#used.has(id)) return false;
    this.#used.add(id);
    return true;
  }

  deallocate(id: number): void {
    this.#used.delete(id);
  }

  clear(): void {
    this.#used.clear();
  }
}

import { IdTable } from './id-table.ts';

const LARGEST = 65_535;

/**
 * The packet ids of one connection, in turn: none is given out again before it was given back [MQTT-2.2.1-3]. mqtt.js, which has
 * the ids of SUBSCRIBE and UNSUBSCRIBE from here, takes it as its `messageIdProvider`.
 */
export class PacketIds {
  readonly #used = new IdTable<true>();
  /** Not given out again: they would have the others take many slots. */
  readonly #kept = new Set<number>();
  #last = 0;

  /** Null: all are in use. */
  allocate(): number | null {
    if (this.#used.size + this.#kept.size >= LARGEST) return null;
    do this.#last = (this.#last % LARGEST) + 1;
    while (this.#isUsed(this.#last));
    this.#used.set(this.#last, true);
    return this.#last;
  }

  getLastAllocated(): number {
    return this.#last;
  }

  register(id: number): boolean {
    if (this.#isUsed(id)) return false;
    this.#used.set(id, true);
    return true;
  }

  deallocate(id: number): void {
    this.#used.delete(id);
  }

  /** It is never given back. */
  keep(id: number): void {
    this.#used.delete(id);
    this.#kept.add(id);
  }

  clear(): void {
    this.#kept.clear();
    this.#used.clear();
  }

  #isUsed(id: number): boolean {
    return this.#used.has(id) || this.#kept.has(id);
  }
}

import { IdTable } from './id-table.ts';

const LARGEST = 65_535;

/** Allocates packet identifiers consecutively; one in use is not allocated again [MQTT-2.2.1-3]. */
export class PacketIds {
  readonly #used = new IdTable<true>();
  /** Identifiers that are never allocated again. Not in `#used`, where they would cause hash collisions. */
  readonly #retired = new Set<number>();
  #last = 0;

  allocate(): number | null {
    if (this.#used.size + this.#retired.size >= LARGEST) return null;
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

  /** Excludes an identifier from allocation until `clear`. */
  retire(id: number): void {
    this.#used.delete(id);
    this.#retired.add(id);
  }

  clear(): void {
    this.#retired.clear();
    this.#used.clear();
  }

  #isUsed(id: number): boolean {
    return this.#used.has(id) || this.#retired.has(id);
  }
}

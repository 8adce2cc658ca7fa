/** Most links have few messages in flight: 32 slots in each of four tables would be a kilobyte per link. */
const MIN_CAPACITY = 4;
const MAX_IDLE_CAPACITY = 8_192;

interface Entry<Value> {
  readonly id: number;
  readonly value: Value;
}

/**
 * Hash table from packet identifiers to values, instead of a Map whose entries change with each message: V8 (Node 20)
 * rehashes it again and again, and one old table in the old generation retains all later ones until a full garbage
 * collection. Identifiers are consecutive, so their lowest bits rarely collide; a collision doubles the capacity, to at
 * most 65,536 slots.
 */
export class IdTable<Value> {
  #slots = new Array<Entry<Value> | undefined>(MIN_CAPACITY).fill(undefined);
  size = 0;

  get(id: number): Value | undefined {
    const entry = this.#at(id);
    return entry?.id === id ? entry.value : undefined;
  }

  has(id: number): boolean {
    return this.#at(id)?.id === id;
  }

  set(id: number, value: Value): void {
    let previous = this.#at(id);
    while (previous !== undefined && previous.id !== id) {
      this.#grow();
      previous = this.#at(id);
    }
    if (previous === undefined) this.size += 1;
    this.#slots[id & (this.#slots.length - 1)] = { id, value };
  }

  delete(id: number): void {
    if (!this.has(id)) return;
    this.#slots[id & (this.#slots.length - 1)] = undefined;
    this.size -= 1;
    if (this.size === 0 && this.#slots.length > MAX_IDLE_CAPACITY) this.clear();
  }

  clear(): void {
    this.#slots = new Array<Entry<Value> | undefined>(MIN_CAPACITY).fill(undefined);
    this.size = 0;
  }

  entries(): Entry<Value>[] {
    return this.#slots.filter((entry) => entry !== undefined);
  }

  #at(id: number): Entry<Value> | undefined {
    return this.#slots[id & (this.#slots.length - 1)];
  }

  /** Entries that did not collide before do not collide afterwards. */
  #grow(): void {
    const entries = this.entries();
    this.#slots = new Array<Entry<Value> | undefined>(this.#slots.length * 2).fill(undefined);
    for (const entry of entries) this.#slots[entry.id & (this.#slots.length - 1)] = entry;
  }
}

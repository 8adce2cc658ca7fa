const LEAST_SLOTS = 32;
/** More are given up when it is empty. */
const MOST_IDLE_SLOTS = 8_192;

interface Entry<Value> {
  readonly id: number;
  readonly value: Value;
}

/**
 * Values by packet id (1 to 65,535). In place of a Map, whose entries come and go with each message: V8 (Node 20) makes it a new table again and again, and
 * links each to the next one, so that with one of them that got old all later ones, and what was in them, wait for a full collection.
 * Ids are given out in turn, so the lowest bits of those in use tell them apart; where they do not, there are more slots from then on.
 *
 * Bound: a slot for each id.
 */
export class IdTable<Value> {
  #slots = new Array<Entry<Value> | undefined>(LEAST_SLOTS).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Value | undefined {
    const entry = this.#at(id);
    return entry?.id === id ? entry.value : undefined;
  }

  has(id: number): boolean {
    return this.#at(id)?.id === id;
  }

  set(id: number, value: Value): void {
    let before = this.#at(id);
    while (before !== undefined && before.id !== id) {
      this.#grow();
      before = this.#at(id);
    }
    if (before === undefined) this.#size += 1;
    this.#slots[id & (this.#slots.length - 1)] = { id, value };
  }

  delete(id: number): void {
    if (!this.has(id)) return;
    this.#slots[id & (this.#slots.length - 1)] = undefined;
    this.#size -= 1;
    if (this.#size === 0 && this.#slots.length > MOST_IDLE_SLOTS) this.clear();
  }

  clear(): void {
    this.#slots = new Array<Entry<Value> | undefined>(LEAST_SLOTS).fill(undefined);
    this.#size = 0;
  }

  /** In no order. */
  entries(): { readonly id: number; readonly value: Value }[] {
    return this.#slots.filter((entry) => entry !== undefined);
  }

  #at(id: number): Entry<Value> | undefined {
    return this.#slots[id & (this.#slots.length - 1)];
  }

  /** Those that had a slot each have one in twice as many. */
  #grow(): void {
    const entries = this.entries();
    this.#slots = new Array<Entry<Value> | undefined>(this.#slots.length * 2).fill(undefined);
    for (const entry of entries) this.#slots[entry.id & (this.#slots.length - 1)] = entry;
  }
}

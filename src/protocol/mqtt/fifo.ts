const LEAST_SLOTS = 32;
/** More are given up when it is empty. */
const MOST_IDLE_SLOTS = 8_192;

/**
 * First in, first out, in slots that are used in turn and emptied at once: what was taken out is nowhere in memory any more, and no
 * array is left behind that would keep what it held until a full collection.
 *
 * Bound: that of who puts in.
 */
export class Fifo<Item> {
  #slots = new Array<Item | undefined>(LEAST_SLOTS).fill(undefined);
  #first = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Undefined: it is empty. */
  get first(): Item | undefined {
    return this.#slots[this.#first];
  }

  push(item: Item): void {
    if (this.#size === this.#slots.length) this.#grow();
    this.#slots[(this.#first + this.#size) & (this.#slots.length - 1)] = item;
    this.#size += 1;
  }

  /** Takes the first one out. */
  shift(): Item | undefined {
    const item = this.#slots[this.#first];
    if (this.#size === 0) return undefined;
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#slots.length - 1);
    this.#size -= 1;
    if (this.#size === 0 && this.#slots.length > MOST_IDLE_SLOTS) this.clear();
    return item;
  }

  clear(): void {
    this.#slots = new Array<Item | undefined>(LEAST_SLOTS).fill(undefined);
    this.#first = 0;
    this.#size = 0;
  }

  #grow(): void {
    const inOrder = [...this.#slots.slice(this.#first), ...this.#slots.slice(0, this.#first)];
    this.#slots = [...inOrder, ...new Array<undefined>(inOrder.length).fill(undefined)];
    this.#first = 0;
  }
}

/** Most queues are empty nearly always. */
const MIN_CAPACITY = 4;
const MAX_IDLE_CAPACITY = 8_192;

/**
 * FIFO queue in a ring buffer, without a bound. Removed items are released immediately: no old array retains them until
 * a full garbage collection.
 */
export class Fifo<Item> {
  #slots = new Array<Item | undefined>(MIN_CAPACITY).fill(undefined);
  #first = 0;
  size = 0;

  get first(): Item | undefined {
    return this.#slots[this.#first];
  }

  push(item: Item): void {
    if (this.size === this.#slots.length) this.#grow();
    this.#slots[(this.#first + this.size) & (this.#slots.length - 1)] = item;
    this.size += 1;
  }

  shift(): Item | undefined {
    const item = this.#slots[this.#first];
    if (this.size === 0) return undefined;
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#slots.length - 1);
    this.size -= 1;
    if (this.size === 0 && this.#slots.length > MAX_IDLE_CAPACITY) this.clear();
    return item;
  }

  clear(): void {
    this.#slots = new Array<Item | undefined>(MIN_CAPACITY).fill(undefined);
    this.#first = 0;
    this.size = 0;
  }

  #grow(): void {
    const inOrder = [...this.#slots.slice(this.#first), ...this.#slots.slice(0, this.#first)];
    this.#slots = [...inOrder, ...new Array<undefined>(inOrder.length).fill(undefined)];
    this.#first = 0;
  }
}

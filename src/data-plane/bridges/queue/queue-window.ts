import type { Entry } from './queue-entry.ts';

/** Settled messages at the front after which their places in the array are freed. */
const MAX_SETTLED = 2_000;

/** The messages of a queue that are read into memory, in order: first taken ones, then those to take. */
export class QueueWindow {
  #entries: Entry[] = [];
  /** The index of the first message that is not settled, and of the next one to take. */
  #first = 0;
  #next = 0;
  lastId = 0;

  get untaken(): number {
    return this.#entries.length - this.#next;
  }

  /** The next message to take; it may be settled. */
  get next(): Entry | undefined {
    return this.#entries[this.#next];
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.lastId = entry.id;
  }

  takeNext(): void {
    this.#next += 1;
  }

  /** Messages that were taken and not settled are taken again. */
  restore(): void {
    this.#next = this.#first;
  }

  remaining(): Entry[] {
    return this.#entries.slice(this.#first);
  }

  /** Messages in memory only that are not settled. */
  *inMemory(): Iterable<Entry> {
    for (let index = this.#first; index < this.#entries.length; index += 1) {
      const entry = this.#entries[index];
      if (entry?.isSettled === false && entry.place === 'MEMORY') yield entry;
    }
  }

  /** Removes the first message if it is settled; `undefined` if it is not. */
  removeSettled(): Entry | undefined {
    const entry = this.#entries[this.#first];
    if (entry?.isSettled) {
      this.#first += 1;
      return entry;
    }
    if (this.#next < this.#first) this.#next = this.#first;
    if (this.#first === this.#entries.length || this.#first > MAX_SETTLED) {
      this.#entries = this.#entries.slice(this.#first);
      this.#next -= this.#first;
      this.#first = 0;
    }
    return undefined;
  }
}

import type { Connection } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';

/** Maximum number of waiting deliveries of one publisher. Nothing more is read of the publisher then. */
const MAX_WAITING = 100;

/** Delivers messages that are on disk in time slices, in turn over publishers. Each publisher's keep their order. */
export class DeliveryScheduler {
  readonly #parts: CoreParts;
  readonly #waiting = new Map<Connection, (() => void)[]>();

  constructor(parts: CoreParts) {
    this.#parts = parts;
  }

  /** Delivers immediately if there is time and no earlier message of the publisher waits; otherwise in a later turn. */
  add(publisher: Connection, deliver: () => void): void {
    const queue = this.#waiting.get(publisher);
    if (queue) {
      queue.push(deliver);
      if (queue.length === MAX_WAITING) publisher.stopReading();
    } else if (this.#parts.time.leftMs > 0) this.#deliver(publisher, deliver);
    else {
      this.#waiting.set(publisher, [deliver]);
      this.#wait(publisher);
    }
  }

  #wait(publisher: Connection): void {
    this.#parts.time.nextIteration(() => this.#deliverSlice(publisher), !publisher.hasTime);
  }

  #deliverSlice(publisher: Connection): void {
    const queue = this.#waiting.get(publisher) ?? [];
    do {
      const deliver = queue.shift();
      if (queue.length === MAX_WAITING - 1) publisher.resumeReading();
      if (deliver) this.#deliver(publisher, deliver);
    } while (queue.length > 0 && this.#parts.time.leftMs > 0);
    if (queue.length > 0) this.#wait(publisher);
    else this.#waiting.delete(publisher);
  }

  #deliver(publisher: Connection, deliver: () => void): void {
    const { faults, time } = this.#parts;
    const start = performance.now();
    faults.run(publisher, "a client's publish could not be delivered", deliver);
    publisher.spend(time, performance.now() - start);
  }
}

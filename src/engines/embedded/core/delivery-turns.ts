import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { Connection } from './connection.ts';
import type { Faults } from './faults.ts';

/** Number of waiting deliveries of one publisher from which nothing more is read of it. */
const MAX_WAITING = 100;

/**
 * When messages that are on disk are delivered: in slices, in turn over publishers and with the reading of other clients. A group of
 * messages that was committed at once may take seconds to deliver, when each matches thousands of filters.
 *
 * Messages of one publisher keep their order.
 */
export class DeliveryTurns {
  readonly #time: ReadingTime;
  readonly #faults: Faults;
  readonly #waiting = new Map<Connection, (() => void)[]>();

  constructor(time: ReadingTime, faults: Faults) {
    this.#time = time;
    this.#faults = faults;
  }

  /** Delivers immediately if there is time and no earlier message of the publisher waits, otherwise in a later turn. */
  add(publisher: Connection, deliver: () => void): void {
    const row = this.#waiting.get(publisher);
    if (row) {
      row.push(deliver);
      if (row.length === MAX_WAITING) publisher.stopReading();
    } else if (this.#time.leftMs > 0) this.#deliver(publisher, deliver);
    else {
      this.#waiting.set(publisher, [deliver]);
      this.#wait(publisher);
    }
  }

  #wait(publisher: Connection): void {
    this.#time.nextIteration(() => this.#deliverSlice(publisher), !publisher.hasTime);
  }

  #deliverSlice(publisher: Connection): void {
    const row = this.#waiting.get(publisher) ?? [];
    do {
      const deliver = row.shift();
      if (row.length === MAX_WAITING - 1) publisher.resumeReading();
      if (deliver) this.#deliver(publisher, deliver);
    } while (row.length > 0 && this.#time.leftMs > 0);
    if (row.length > 0) this.#wait(publisher);
    else this.#waiting.delete(publisher);
  }

  #deliver(publisher: Connection, deliver: () => void): void {
    const start = performance.now();
    this.#faults.run(publisher, "a client's publish could not be delivered", deliver);
    publisher.spend(this.#time, performance.now() - start);
  }
}

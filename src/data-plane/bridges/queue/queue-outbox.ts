import { countWithin } from '../../log/log-message.ts';
import type { Entry } from './queue-entry.ts';

const MIN_PRUNED = 10_000;

/** The messages of a queue that are to be written: those that wait, then those that its writer has taken. */
export class QueueOutbox {
  #waiting: Entry[] = [];
  /** So many may wait, until those that are settled meanwhile are removed. */
  #pruneAt = MIN_PRUNED;
  /** In the order in which they were taken. */
  #sent: Entry[] = [];

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  get isSending(): boolean {
    return this.#sent.length > 0;
  }

  /** In the order of their ids. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.place = 'WRITING';
      this.#waiting.push(entry);
    }
    if (this.#waiting.length > this.#pruneAt) this.#prune();
  }

  /** The oldest messages, at most so many and so many bytes, but at least one if there is any. */
  take(messages: number, bytes: number): readonly Entry[] {
    this.#prune();
    const taken = this.#waiting.slice(0, countWithin(this.#waiting, messages, bytes));
    this.#waiting = this.#waiting.slice(taken.length);
    for (const entry of taken) entry.place = 'SENT';
    this.#sent.push(...taken);
    return taken;
  }

  /** Of the messages that were taken first, returns which ones are still to be written, and removes the others. */
  again(messages: number): readonly boolean[] {
    const sent = this.#sent.splice(0, messages);
    this.#sent.unshift(...sent.filter(({ isSettled }) => !isSettled));
    return sent.map(({ isSettled }) => !isSettled);
  }

  /** Removes the messages that were taken first. */
  written(messages: number): readonly Entry[] {
    return this.#sent.splice(0, messages);
  }

  /** Messages that wait are not written. */
  dropWaiting(): void {
    this.#waiting = [];
  }

  #prune(): void {
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled);
    this.#pruneAt = Math.max(MIN_PRUNED, 2 * this.#waiting.length);
  }
}

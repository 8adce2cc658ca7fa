import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue } from '../../limits/fair-queue.ts';

/** Operations that start without a turn of the event loop between them may take this long together. In milliseconds. */
const SLICE_MS = 10;
/** Each WebSocket and each request for a stream waits at most once, so connections are the bound. */
const MAX_WAITING = 1_000_000;

/**
 * Starts operations one after the other, round robin over networks, and lets the event loop turn after each slice of time: thousands
 * of subscriptions that are opened at once do not delay other callers.
 */
export class OperationStarts {
  readonly #queue = new FairQueue({ atOnce: 1, maxWaiting: MAX_WAITING });
  #sliceEndsAt = 0;

  /** Operations that wait for their start. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /**
   * Calls `start` when it is the network's turn; at once if nothing waits. Resolves after it. `isWanted` is asked before.
   * Errors: QueueFull if the start is not wanted.
   */
  run(network: string, start: () => void, isWanted?: () => boolean): Promise<void> {
    return this.#queue.run(network, () => this.#start(start), isWanted);
  }

  async #start(start: () => void): Promise<void> {
    start();
    // Ticks run when all microtasks have: what the operation does without waiting for anything is done then.
    await null;
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (performance.now() < this.#sliceEndsAt) return;
    await nextTurn();
    this.#sliceEndsAt = performance.now() + SLICE_MS;
  }
}

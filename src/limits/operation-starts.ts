import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue, QueueFull } from './fair-queue.ts';
import { networkOf } from './network.ts';

/** Operations that start without a turn of the event loop between them may take this long together. In milliseconds. */
const SLICE_MS = 10;
/** Each WebSocket and each request waits at most once, so connections are the bound. */
const MAX_WAITING = 1_000_000;

/** Who starts an operation. */
export interface StartingCaller {
  readonly viewer: { readonly id: string } | null;
  readonly address: string;
}

/** Operations of one person or token, or of one network without credentials, wait for each other. */
const keyOf = ({ viewer, address }: StartingCaller): string => viewer?.id ?? networkOf(address);

/**
 * Starts operations one after the other, round robin over callers, and lets the event loop turn after each slice of time: thousands of
 * subscriptions that are opened at once, or a hundred large reads, delay another caller by one of them.
 */
export class OperationStarts {
  readonly #queue = new FairQueue({ atOnce: 1, maxWaiting: MAX_WAITING });
  /** Whether an operation of the queue starts or waits. */
  #isBusy = false;
  /** When the time is over that operations may start at once in this turn of the event loop; 0: none has started in it. */
  #turnEndsAt = 0;

  /** Operations that wait for their start. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /** Calls `start` at once while this turn of the event loop has time and nothing waits; otherwise in its turn, if it is still wanted. */
  soon(caller: StartingCaller, start: () => void, isWanted: () => boolean): void {
    if (!this.#isBusy && this.#hasTime()) {
      start();
      return;
    }
    this.run(caller, start, isWanted).catch((error: unknown) => {
      if (!(error instanceof QueueFull)) throw error;
    });
  }

  /**
   * Calls `start` in its turn; at once if nothing waits. Resolves after it. `isWanted` is asked before. `start` must not throw.
   * Errors: QueueFull if the start is not wanted.
   */
  run(caller: StartingCaller, start: () => void, isWanted?: () => boolean): Promise<void> {
    return this.#queue.run(keyOf(caller), () => this.#start(start), isWanted);
  }

  async #start(start: () => void): Promise<void> {
    this.#isBusy = true;
    while (!this.#hasTime()) await nextTurn();
    start();
    // Ticks run when all microtasks have: what the operation does without waiting for anything is done then.
    await null;
    await new Promise<void>((resolve) => process.nextTick(resolve));
    this.#isBusy = this.#queue.waitingCount > 0;
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (this.#turnEndsAt === 0) {
      this.#turnEndsAt = now + SLICE_MS;
      setImmediate(this.#endTurn);
    }
    return now < this.#turnEndsAt;
  }

  readonly #endTurn = (): void => {
    this.#turnEndsAt = 0;
  };
}

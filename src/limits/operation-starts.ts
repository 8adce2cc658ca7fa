import { FairQueue, QueueFull } from './fair-queue.ts';
import { afterTurns } from './loop-turns.ts';
import { networkOf } from './network.ts';

/** Operations that start without a turn of the event loop between them may take this long together. In milliseconds. */
const SLICE_MS = 10;
/** Callers that wait. Each WebSocket and each request waits at most once, so connections are the bound. */
const MAX_WAITING = 1_000_000;

/** Who starts an operation. */
export interface StartingCaller {
  readonly viewer: { readonly id: string } | null;
  readonly address: string;
}

interface Operation {
  readonly start: () => void;
  readonly isWanted: () => boolean;
  readonly done: () => void;
  readonly refuse: (error: Error) => void;
}

/** Operations of one person or token, or of one network without credentials, wait for each other. */
const keyOf = ({ viewer, address }: StartingCaller): string => viewer?.id ?? networkOf(address);

/**
 * Starts operations one after the other, round robin over callers, and lets the event loop turn after each slice of time. A caller has
 * the time of one slice when it is its turn, not one operation: who sends many small operations waits for one large operation of each
 * other caller, and not once for each of its own.
 */
export class OperationStarts {
  readonly #turns = new FairQueue({ atOnce: 1, maxWaiting: MAX_WAITING });
  /** Waiting operations by caller. */
  readonly #waiting = new Map<string, Operation[]>();
  #waitingCount = 0;
  /** Whether an operation starts or waits. */
  #isBusy = false;
  /** When the time is over that operations may start at once in this turn of the event loop; 0: none has started in it. */
  #turnEndsAt = 0;

  /** Operations that wait for their start. */
  get waitingCount(): number {
    return this.#waitingCount;
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
   * Calls `start` in its turn; at once if nothing waits. Resolves after it. `isWanted` is asked before.
   * Errors: QueueFull if the start is not wanted, and what `start` throws.
   */
  run(caller: StartingCaller, start: () => void, isWanted: () => boolean = () => true): Promise<void> {
    const key = keyOf(caller);
    return new Promise((done, refuse) => {
      const operation = { start, isWanted, done, refuse };
      this.#isBusy = true;
      this.#waitingCount += 1;
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(operation);
        return;
      }
      this.#waiting.set(key, [operation]);
      this.#queueTurn(key);
    });
  }

  #queueTurn(key: string): void {
    void this.#turns.run(key, () => this.#turnOf(key));
  }

  /** Starts operations of a caller until none waits or its slice is over. */
  async #turnOf(key: string): Promise<void> {
    while (!this.#hasTime()) await new Promise<void>(afterTurns);
    const operations = this.#waiting.get(key) ?? [];
    const end = performance.now() + SLICE_MS;
    let operation = operations.shift();
    while (operation !== undefined) {
      this.#waitingCount -= 1;
      await this.#start(operation);
      operation = performance.now() < end ? operations.shift() : undefined;
    }
    if (operations.length > 0) this.#queueTurn(key);
    else this.#waiting.delete(key);
    this.#isBusy = this.#waiting.size > 0;
  }

  async #start({ start, isWanted, done, refuse }: Operation): Promise<void> {
    if (!isWanted()) {
      refuse(new QueueFull());
      return;
    }
    try {
      start();
      done();
    } catch (error) {
      refuse(error instanceof Error ? error : new Error(String(error)));
    }
    // Ticks run when all microtasks have: what the operation does without waiting for anything is done then.
    await null;
    await new Promise<void>((resolve) => process.nextTick(resolve));
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

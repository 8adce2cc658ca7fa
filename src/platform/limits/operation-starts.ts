import { ConcurrencyLimit, QueueFull } from '../scheduling/concurrency-limit.ts';
import { yieldToEventLoop } from '../scheduling/sliced-task.ts';
import { networkOf } from './network.ts';

/** Maximum time of the operations of one caller that start in the same event loop iteration, in milliseconds. */
const SLICE_MS = 10;
/**
 * Maximum number of waiting callers. A WebSocket or request has at most one waiting operation, so connections are the
 * bound.
 */
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
 * Scheduler that starts operations round robin over callers and yields to the event loop after each slice. A slice is
 * an amount of time, not a number of operations: a caller with many small operations waits for one large operation of
 * each other caller, and not once per operation.
 */
export class OperationStarts {
  readonly #slices = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: MAX_WAITING });
  /** Waiting operations by caller. */
  readonly #waiting = new Map<string, Operation[]>();
  #waitingCount = 0;
  /** Whether an operation starts or waits. */
  #isBusy = false;
  /** When the slice of this event loop iteration ends. 0 if no operation has started in it. */
  #sliceEndsAt = 0;

  /** Operations that wait for their start. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Calls `start` immediately if no operation waits and this iteration has time left. Otherwise queues it. */
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
   * Queues an operation and resolves when `start` has returned. `start` is not called if `isWanted` returns false by
   * then. Errors: QueueFull if the operation is not wanted, and what `start` throws.
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
      this.#queueSlice(key);
    });
  }

  #queueSlice(key: string): void {
    void this.#slices.run(() => this.#runSlice(key), { key });
  }

  /** Starts operations of a caller until none waits or the slice ends. */
  async #runSlice(key: string): Promise<void> {
    while (!this.#hasTime()) await new Promise<void>(yieldToEventLoop);
    const operations = this.#waiting.get(key) ?? [];
    const end = performance.now() + SLICE_MS;
    let operation = operations.shift();
    while (operation !== undefined) {
      this.#waitingCount -= 1;
      await this.#start(operation);
      operation = performance.now() < end ? operations.shift() : undefined;
    }
    if (operations.length > 0) this.#queueSlice(key);
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
    // A tick runs after all microtasks, so the synchronous part of the operation is complete then.
    await null;
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (this.#sliceEndsAt === 0) {
      this.#sliceEndsAt = now + SLICE_MS;
      setImmediate(this.#endSlice);
    }
    return now < this.#sliceEndsAt;
  }

  readonly #endSlice = (): void => {
    this.#sliceEndsAt = 0;
  };
}

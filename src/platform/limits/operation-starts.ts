import { ConcurrencyLimit, QueueFull } from '../scheduling/concurrency-limit.ts';
import { yieldToEventLoop } from '../scheduling/sliced-task.ts';
import { networkOf } from './network.ts';

/** Time of the operations of one caller that start in the same event loop iteration. */
const SLICE_MS = 10;
/** Of callers. A request or WebSocket has one waiting operation at most, so connections are the bound. */
const MAX_WAITING = 1_000_000;

interface StartingCaller {
  readonly viewer: { readonly id: string } | null;
  readonly address: string;
}

interface Operation {
  readonly start: () => void;
  readonly isWanted: () => boolean;
  readonly done: () => void;
  readonly refuse: (error: Error) => void;
}

const keyOf = ({ viewer, address }: StartingCaller): string => viewer?.id ?? networkOf(address);

/**
 * Starts operations round robin over callers, and yields to the event loop after each slice: an amount of time, so that
 * a caller with many small operations waits for one large operation of each other caller.
 */
export class OperationStarts {
  readonly #slices = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: MAX_WAITING });
  readonly #waiting = new Map<string, Operation[]>();
  waitingCount = 0;
  #isBusy = false;
  /** When the slice of this event loop iteration ends. 0 if no operation has started in it. */
  #sliceEndsAt = 0;

  /** Whether an operation may start immediately: no operation waits, and this iteration has time left. */
  get isFree(): boolean {
    return !this.#isBusy && this.#hasTime();
  }

  /** Calls `start` immediately if `isFree`. Otherwise queues it. */
  soon(caller: StartingCaller, start: () => void, isWanted: () => boolean): void {
    if (this.isFree) {
      start();
      return;
    }
    this.run(caller, start, isWanted).catch((error: unknown) => {
      if (!(error instanceof QueueFull)) throw error;
    });
  }

  /** Resolves when `start` has returned. Errors: QueueFull if the operation is not wanted, and those of `start`. */
  run(caller: StartingCaller, start: () => void, isWanted: () => boolean = () => true): Promise<void> {
    const key = keyOf(caller);
    return new Promise((done, refuse) => {
      const operation = { start, isWanted, done, refuse };
      this.#isBusy = true;
      this.waitingCount += 1;
      const waiting = this.#waiting.get(key);
      waiting?.push(operation);
      if (waiting !== undefined) return;
      this.#waiting.set(key, [operation]);
      this.#queueSlice(key);
    });
  }

  #queueSlice(key: string): void {
    void this.#slices.run(() => this.#runSlice(key), { key });
  }

  async #runSlice(key: string): Promise<void> {
    while (!this.#hasTime()) await new Promise<void>(yieldToEventLoop);
    const operations = this.#waiting.get(key) ?? [];
    const end = performance.now() + SLICE_MS;
    let operation = operations.shift();
    while (operation !== undefined) {
      this.waitingCount -= 1;
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

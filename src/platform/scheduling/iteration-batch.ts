/**
 * Callbacks that are called at the end of the current event loop iteration, so that connections write together. After
 * each batch `onEnd` is called once.
 */
export class IterationBatch {
  readonly #onEnd: () => void;
  #callbacks: (() => void)[] = [];
  #isEndSkipped = false;

  constructor(onEnd: () => void = () => undefined) {
    this.#onEnd = onEnd;
  }

  /** `callback` is called once and must not throw. */
  add(callback: () => void): void {
    if (this.#callbacks.length === 0) setImmediate(this.#run);
    this.#callbacks.push(callback);
  }

  /** Packets wait for an acknowledgement, which a pause would delay. */
  skipEnd(): void {
    this.#isEndSkipped = true;
  }

  readonly #run = (): void => {
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) callback();
    if (!this.#isEndSkipped) this.#onEnd();
    this.#isEndSkipped = false;
  };
}

/** Short compared with the delivery time of a message through two brokers and a stream. */
const PAUSE_MS = 0.3;

/**
 * Returns an `onEnd` that coalesces incoming messages: it blocks the thread for PAUSE_MS if the iteration took less
 * than that. A thread that is faster than a busy broker wakes up for each message, which costs more than all other work
 * for it. Only for threads without other work.
 *
 * `skipEnd` avoids the pause while messages wait for acknowledgements: Mosquitto accepts 20 unacknowledged messages by
 * default, and a pause before each acknowledgement halved the throughput.
 */
export function pauseShortIterations(): () => void {
  // Never notified: the wait always ends by its timeout.
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let endedAt = 0;
  return () => {
    const now = performance.now();
    if (now - endedAt >= PAUSE_MS) {
      endedAt = now;
      return;
    }
    Atomics.wait(cell, 0, 0, PAUSE_MS);
    endedAt = performance.now();
  };
}

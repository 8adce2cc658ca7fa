/** Milliseconds. Short beside what a message takes from its publisher through two brokers' sockets and a stream. */
const REST_MS = 0.3;

/**
 * When to let messages gather: a busy broker sends each with a write of its own, and a thread that is quicker than the broker is woken for
 * each, which costs more than all that is done for the message. So after a turn of the event loop that followed the one before it at
 * once, the thread sleeps for REST_MS, and finds with the next turn what came meanwhile. A thread with little to do is woken at once, and
 * one whose turns take longer than a rest, because it finds much in each, never sleeps.
 *
 * It is not called behind turns with which messages wait for the broker to take those before them (Turns.hurry): Mosquitto takes 20 at a
 * time unless told otherwise, and a rest would be added to each of its answers, which halved the throughput.
 */
export class Rests {
  /** Nobody wakes the thread: nothing is ever written there. */
  readonly #bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #turnedAt = 0;

  /** Blocks the thread: for one that has nobody waiting in it. */
  readonly afterTurn = (): void => {
    const now = performance.now();
    if (now - this.#turnedAt >= REST_MS) {
      this.#turnedAt = now;
      return;
    }
    Atomics.wait(this.#bell, 0, 0, REST_MS);
    this.#turnedAt = performance.now();
  };
}

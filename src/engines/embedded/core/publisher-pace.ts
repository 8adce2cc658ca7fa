import type { Connection } from './connection.ts';
import { goOnReading, stopReading } from './packet-row.ts';

/** Payload bytes of one publisher that its subscribers' sockets have not taken: beyond it nothing more is read of it. */
const MAX_UNSENT_BYTES = 512 * 1_024;
/** Milliseconds that a publisher waits at most for its subscribers to take a message. */
const PATIENCE_MS = 1_000;

/**
 * Slows down a publisher of large QoS 0 messages to the speed of its subscribers, so that those who read lose nothing. aedes itself does
 * so with small messages only: it reads on whenever something arrives. A message that a subscriber does not take within a second
 * counts no longer: the publisher goes on, and that subscriber loses the messages that it has no room for.
 */
export class PublisherPace {
  readonly #connection: Connection;
  #bytes = 0;
  /** Messages of earlier rounds count no longer. */
  #round = 0;
  /** Set while nothing is read of the publisher. */
  #timer: NodeJS.Timeout | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Counts a message. The returned function is called when all sockets have taken it. */
  began(bytes: number): () => void {
    const round = this.#round;
    this.#bytes += bytes;
    if (this.#timer === null && this.#bytes > MAX_UNSENT_BYTES) this.#stop();
    return () => {
      if (round !== this.#round) return;
      this.#bytes -= bytes;
      if (this.#timer !== null && this.#bytes <= MAX_UNSENT_BYTES) this.#goOn(this.#timer);
    };
  }

  #stop(): void {
    stopReading(this.#connection);
    const timer = setTimeout(() => {
      this.#round += 1;
      this.#bytes = 0;
      this.#goOn(timer);
    }, PATIENCE_MS);
    timer.unref();
    this.#timer = timer;
  }

  #goOn(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timer = null;
    goOnReading(this.#connection);
  }
}

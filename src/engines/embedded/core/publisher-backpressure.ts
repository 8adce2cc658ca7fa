import type { PausableReader } from './packet-queue.ts';

/**
 * Payload bytes of one publisher that its subscribers' sockets have not taken: beyond it nothing more is read of the
 * publisher.
 */
const MAX_UNSENT_BYTES = 512 * 1_024;
/** Milliseconds that a publisher waits at most for its subscribers to take a message. */
const MAX_WAIT_MS = 1_000;

/**
 * Slows down a publisher of large QoS 0 messages to the speed of its subscribers, so that subscribers that read lose
 * nothing. aedes does so with small messages only: it reads whenever bytes arrive. A message that a subscriber has not
 * taken within a second is no longer counted: the publisher continues, and that subscriber loses the messages for which
 * it has no room.
 */
export class PublisherBackpressure {
  readonly #publisher: PausableReader;
  #bytes = 0;
  /** Messages of earlier rounds are no longer counted. */
  #round = 0;
  /** Set while nothing is read of the publisher. */
  #timer: NodeJS.Timeout | null = null;

  constructor(publisher: PausableReader) {
    this.#publisher = publisher;
  }

  /** Counts a message. Call the returned function when all sockets have taken it. */
  began(bytes: number): () => void {
    const round = this.#round;
    this.#bytes += bytes;
    if (this.#timer === null && this.#bytes > MAX_UNSENT_BYTES) this.#stop();
    return () => {
      if (round !== this.#round) return;
      this.#bytes -= bytes;
      if (this.#timer !== null && this.#bytes <= MAX_UNSENT_BYTES) this.#resume(this.#timer);
    };
  }

  #stop(): void {
    this.#publisher.stopReading();
    const timer = setTimeout(() => {
      this.#round += 1;
      this.#bytes = 0;
      this.#resume(timer);
    }, MAX_WAIT_MS);
    timer.unref();
    this.#timer = timer;
  }

  #resume(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timer = null;
    this.#publisher.resumeReading();
  }
}

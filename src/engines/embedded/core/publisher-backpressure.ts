import type { PausableReader } from './packet-queue.ts';

/** Payload bytes that sockets have not taken, beyond which nothing more is read of the publisher. */
const MAX_UNSENT_BYTES = 512 * 1_024;
/** Milliseconds that a publisher waits at most for its subscribers to take a message. */
const MAX_WAIT_MS = 1_000;

/** Slows a publisher of large QoS 0 messages down to its subscribers, but by at most a second per message. */
export class PublisherBackpressure {
  readonly #publisher: PausableReader;
  #bytes = 0;
  /** Messages of earlier rounds are no longer counted. */
  #round = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(publisher: PausableReader) {
    this.#publisher = publisher;
  }

  /** Call the returned function when all sockets have taken the message. */
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

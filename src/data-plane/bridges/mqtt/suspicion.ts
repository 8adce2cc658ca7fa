import type { QueueEntry } from '../queue/queue-entry.ts';

/** Milliseconds that a connection must exist before a suspected message is sent. */
export const CALM_MS = 1_000;
/** Maximum milliseconds until a broker disconnects because of a message. */
const PROMPT_MS = 5_000;
const STRIKES = 3;

/**
 * Finds the message for which the other broker disconnects. Brokers of MQTT 3.1.1 have no other way to refuse a message
 * that is too large or not allowed, and it would block all others permanently.
 * After a connection without any acknowledgement, messages are sent one at a time until one is acknowledged. The
 * message that was sent alone on STRIKES such connections is the cause. A broker that does not respond does not
 * disconnect, so it accuses no message.
 */
export class Suspicion {
  #isCautious = false;
  #hasTaken = false;
  #isCalm = false;
  #suspect: QueueEntry | null = null;
  #sentAt = 0;
  #strikes = 0;

  /** The maximum number of messages in flight; `usual` without a suspicion. */
  most(usual: number): number {
    if (!this.#isCautious) return usual;
    return this.#isCalm ? 1 : 0;
  }

  /** Returns whether to send nothing until `calm` is called, after CALM_MS. */
  connected(): boolean {
    this.#hasTaken = false;
    this.#isCalm = false;
    return this.#isCautious;
  }

  calm(): void {
    this.#isCalm = true;
  }

  sent(entry: QueueEntry): void {
    if (!this.#isCautious) return;
    if (this.#suspect !== entry) this.#strikes = 0;
    this.#suspect = entry;
    this.#sentAt = performance.now();
  }

  taken(): void {
    this.#hasTaken = true;
    this.#isCautious = false;
    this.#suspect = null;
  }

  unanswered(): void {
    this.#suspect = null;
  }

  /** The connection was lost with these messages in flight; returns the message that caused it, if known. */
  lost(inFlight: number): QueueEntry | null {
    if (inFlight === 0 || this.#hasTaken) return null;
    this.#isCautious = true;
    const suspect = this.#suspect;
    if (suspect === null || performance.now() - this.#sentAt > PROMPT_MS) return null;
    this.#strikes += 1;
    if (this.#strikes < STRIKES) return null;
    this.#suspect = null;
    return suspect;
  }
}

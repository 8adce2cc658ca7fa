import type { QueueEntry } from '../queue/bridge-queue.ts';

/** Milliseconds that a connection has to stand before a suspect is sent: one that would have ended anyway says nothing of it. */
export const CALM_MS = 1_000;
/** Milliseconds within which a broker that will not have a message ends the connection. */
const PROMPT_MS = 5_000;
/** Connections that the same message has to end, one after the other. */
const STRIKES = 3;

/**
 * Finds the message for which the other broker ends the connection, as brokers of MQTT 3.1.1 do with what is too large or not allowed: they
 * have no other way to say so, and it would hold up all others for ever.
 *
 * After a connection that took none of what was sent, messages go one at a time, until one is taken. The one that was alone under way as
 * STRIKES such connections ended is to blame. A broker that does not answer ends nothing, so no message is to blame for that.
 */
export class Suspicion {
  #isCautious = false;
  #hasTaken = false;
  #isCalm = false;
  #suspect: QueueEntry | null = null;
  #sentAt = 0;
  #strikes = 0;

  /** Messages that may be under way at once, of so many. */
  most(usual: number): number {
    if (!this.#isCautious) return usual;
    return this.#isCalm ? 1 : 0;
  }

  /** True: nothing is to be sent before `calm` is called, after CALM_MS. */
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

  /** One was taken, or refused alone. */
  taken(): void {
    this.#hasTaken = true;
    this.#isCautious = false;
    this.#suspect = null;
  }

  unanswered(): void {
    this.#suspect = null;
  }

  /** The connection ended, with so many under way; which of them is to blame, if that is known. */
  lost(underWay: number): QueueEntry | null {
    if (underWay === 0 || this.#hasTaken) return null;
    this.#isCautious = true;
    const suspect = this.#suspect;
    if (suspect === null || performance.now() - this.#sentAt > PROMPT_MS) return null;
    this.#strikes += 1;
    if (this.#strikes < STRIKES) return null;
    this.#suspect = null;
    return suspect;
  }
}

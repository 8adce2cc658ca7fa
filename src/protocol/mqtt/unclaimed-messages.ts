import type { BrokerMessage } from './broker-session.ts';

type Identifiers = number | readonly number[] | undefined;

interface Unclaimed {
  readonly message: BrokerMessage;
  readonly identifiers: Identifiers;
  readonly release: () => void;
}

const LONGEST = 6;

/**
 * Messages that a broker kept for an earlier process's filters and sends as soon as there is a connection: they wait here, not acknowledged, for those who
 * subscribe again. What nobody asks for in `patienceMs` after the connection was made, or after the last of them subscribed in the
 * first LONGEST times of it, is acknowledged and forgotten; so is, at once, what comes later. A connection that is lost before that leaves the waiting to the next one.
 *
 * Bound: what the broker sends without an acknowledgement; messages of QoS 0 are not kept.
 */
export class UnclaimedMessages {
  readonly #patienceMs: number;
  #waiting: Unclaimed[] = [];
  #timer: NodeJS.Timeout | null = null;
  #openedAt = 0;
  #isOver = false;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Connected, to a session of before. */
  open(): void {
    this.close();
    if (this.#isOver) return;
    this.#openedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.close();
    }, this.#patienceMs);
  }

  /** False: nobody is waited for any more, and it is forgotten. */
  add(message: BrokerMessage, identifiers: Identifiers): boolean {
    if (this.#timer === null) return false;
    if (message.qos > 0 && message.hold) this.#waiting.push({ message, identifiers, release: message.hold() });
    return true;
  }

  /** Somebody subscribed. `dispatch` says whether somebody wants it. */
  claim(dispatch: (message: BrokerMessage, identifiers: Identifiers) => boolean): void {
    // Thousands may subscribe one after the other, but what nobody wants holds up what comes after it.
    if (performance.now() < this.#openedAt + LONGEST * this.#patienceMs) this.#timer?.refresh();
    if (this.#waiting.length === 0) return;
    this.#waiting = this.#waiting.filter(({ message, identifiers, release }) => {
      if (!dispatch(message, identifiers)) return true;
      release();
      return false;
    });
  }

  /** What waits is acknowledged, if its connection is still there. */
  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    for (const { release } of this.#waiting.splice(0)) release();
  }
}

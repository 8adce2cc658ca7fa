import type { BrokerMessage } from './broker-session.ts';
import type { Identifiers } from './packet-properties.ts';

interface Unclaimed {
  readonly message: BrokerMessage;
  readonly identifiers: Identifiers;
  readonly release: () => void;
}

const MAX_EXTENSION = 6;

/**
 * Queue of messages for filters of an earlier process, which a resumed session receives. They wait without an
 * acknowledgement until a subscriber claims them, `claimMs` long; every filter that is subscribed within the first
 * MAX_EXTENSION * `claimMs` restarts the wait. Then they are acknowledged and dropped. If the connection is lost
 * earlier, the next one waits again.
 *
 * Bound: the Receive Maximum. Messages of QoS 0 are dropped.
 */
export class UnclaimedMessages {
  readonly #claimMs: number;
  #waiting: Unclaimed[] = [];
  #timer: NodeJS.Timeout | null = null;
  #openedAt = 0;
  #isOver = false;

  constructor(claimMs: number) {
    this.#claimMs = claimMs;
  }

  open(): void {
    this.close();
    if (this.#isOver) return;
    this.#openedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.close();
    }, this.#claimMs);
  }

  /** Queues a message. Returns false if the wait is over. */
  add(message: BrokerMessage, identifiers: Identifiers): boolean {
    if (this.#timer === null) return false;
    if (message.qos > 0 && message.hold) this.#waiting.push({ message, identifiers, release: message.hold() });
    return true;
  }

  /** Dispatches queued messages to a new subscriber. `dispatch` returns whether there is one. */
  claim(dispatch: (message: BrokerMessage, identifiers: Identifiers) => boolean): void {
    // Thousands of filters may be subscribed one after the other. The limit is there because acknowledgements are sent
    // in order.
    if (performance.now() < this.#openedAt + MAX_EXTENSION * this.#claimMs) this.#timer?.refresh();
    if (this.#waiting.length === 0) return;
    this.#waiting = this.#waiting.filter(({ message, identifiers, release }) => {
      if (!dispatch(message, identifiers)) return true;
      release();
      return false;
    });
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    for (const { release } of this.#waiting.splice(0)) release();
  }
}

import type { BrokerMessage } from '../../../protocol/mqtt/broker-session.ts';

/** Maximum number and bytes of lines that wait. Beyond it, all of them are read. */
const MAX_LINES = 10_000;
const MAX_BYTES = 1_048_576;

/** Lines that arrive before it is known how to read them. Afterwards lines are read immediately. */
export class EarlyLines {
  readonly #read: (message: BrokerMessage, at: number) => void;
  #waiting: { readonly message: BrokerMessage; readonly at: number }[] = [];
  #bytes = 0;
  #isReleased = false;

  /** `read` is called with the time of arrival, in epoch milliseconds. */
  constructor(read: (message: BrokerMessage, at: number) => void) {
    this.#read = read;
  }

  read(message: BrokerMessage): void {
    const at = Date.now();
    if (this.#isReleased) {
      this.#read(message, at);
      return;
    }
    // The link empties a message after its listeners were called.
    this.#waiting.push({ message: { ...message, payload: Buffer.from(message.payload) }, at });
    this.#bytes += message.topic.length + message.payload.length;
    if (this.#waiting.length > MAX_LINES || this.#bytes > MAX_BYTES) this.release();
  }

  readWaiting(): void {
    this.#bytes = 0;
    for (const { message, at } of this.#waiting.splice(0)) this.#read(message, at);
  }

  /** Reads what waits, and from now on immediately. */
  release(): void {
    this.#isReleased = true;
    this.readWaiting();
  }
}

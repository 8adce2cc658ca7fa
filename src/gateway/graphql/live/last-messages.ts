/** Longest wait for the messages in progress, such as the result of the mutation that ended the session. */
const LAST_MESSAGES_MS = 500;

/** Closes a connection whose credentials have ended, after the messages in progress are handled. */
export class LastMessages {
  readonly #close: (reason: string) => void;
  #inProgress = 0;
  #reason: string | null = null;

  constructor(close: (reason: string) => void) {
    this.#close = close;
  }

  async handle(work: Promise<void>): Promise<void> {
    this.#inProgress += 1;
    try {
      await work;
    } finally {
      this.#inProgress -= 1;
      if (this.#inProgress === 0 && this.#reason !== null) this.#close(this.#reason);
    }
  }

  /** Closes the connection when no message is in progress, and after LAST_MESSAGES_MS in any case. */
  closeAfter(reason: string): void {
    this.#reason = reason;
    if (this.#inProgress === 0) this.#close(reason);
    else setTimeout(() => this.#close(reason), LAST_MESSAGES_MS).unref();
  }
}

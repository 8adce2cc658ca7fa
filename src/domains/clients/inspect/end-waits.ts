/** Those who wait for the log to tell the end of a connection, each for a time of its own. */
export class EndWaits {
  readonly #hasEnded: (clientid: string, connection: number) => boolean;
  readonly #checks = new Map<string, Set<() => void>>();
  #closed = false;

  constructor(hasEnded: (clientid: string, connection: number) => boolean) {
    this.#hasEnded = hasEnded;
  }

  /** Resolves with the end, which may have been told before, or when the time is over. */
  wait(clientid: string, connection: number, patienceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const checks = this.#checks.get(clientid) ?? new Set();
      this.#checks.set(clientid, checks);
      const done = () => {
        clearTimeout(timer);
        checks.delete(check);
        if (checks.size === 0 && this.#checks.get(clientid) === checks) this.#checks.delete(clientid);
        resolve();
      };
      const check = () => {
        if (this.#closed || this.#hasEnded(clientid, connection)) done();
      };
      const timer = setTimeout(done, patienceMs);
      checks.add(check);
      check();
    });
  }

  /** Something was told of the client. */
  told(clientid: string): void {
    for (const check of this.#checks.get(clientid) ?? []) check();
  }

  close(): void {
    this.#closed = true;
    for (const clientid of [...this.#checks.keys()]) this.told(clientid);
  }
}

/** Callers that wait until the log reports the end of a connection, each with its own timeout. */
export class DisconnectWaiters {
  readonly #hasEnded: (clientid: string, connection: number) => boolean;
  readonly #checks = new Map<string, Set<() => void>>();
  #closed = false;

  constructor(hasEnded: (clientid: string, connection: number) => boolean) {
    this.#hasEnded = hasEnded;
  }

  /** Resolves when the connection has ended, which may be before the call, or after the timeout. */
  wait(clientid: string, connection: number, timeoutMs: number): Promise<void> {
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
      const timer = setTimeout(done, timeoutMs);
      checks.add(check);
      check();
    });
  }

  notify(clientid: string): void {
    for (const check of this.#checks.get(clientid) ?? []) check();
  }

  close(): void {
    this.#closed = true;
    for (const clientid of [...this.#checks.keys()]) this.notify(clientid);
  }
}

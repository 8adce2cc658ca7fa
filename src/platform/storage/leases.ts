/**
 * Who of several processes on one database does what only one of them may do.
 *
 * A lease has a name and at most one holder. Whoever wants it is told when it has got it and when it has lost it; it is lost at
 * once with the connection to the database that it is held by, whatever the database thinks of that connection.
 */
export interface Leases {
  /** Tried for until it is released. `listener` is told each change, never before this returns. It must not throw. */
  want(name: string, listener: (held: boolean) => void): Lease;
  /** Gives all of them back; safe to call twice. */
  close(): Promise<void>;
}

export interface Lease {
  readonly held: boolean;
  /** Tries at once where it is not held; whether it is now. Never rejects. */
  attempt(): Promise<boolean>;
  /** Others may have it when this resolves; the listener is told nothing any more. To be called when what it stood for has ended. */
  release(): Promise<void>;
}

/** Where one process owns the database, it holds whatever it wants. */
export class LocalLeases implements Leases {
  want(_name: string, listener: (held: boolean) => void): Lease {
    let isReleased = false;
    queueMicrotask(() => {
      if (!isReleased) listener(true);
    });
    return {
      get held() {
        return !isReleased;
      },
      attempt: async () => !isReleased,
      release: async () => {
        isReleased = true;
      },
    };
  }

  async close(): Promise<void> {}
}

/**
 * Leases decide which of several processes on one database performs a task that only one of them may perform.
 *
 * A lease has a name and at most one holder. Applicants are notified when they acquire or lose it. The holder loses a
 * lease immediately with its database connection, even if the database still considers the connection open.
 */
export interface Leases {
  /** Tries to acquire a lease until it is released. Later calls `listener` with each change; it must not throw. */
  want(name: string, listener: (isHeld: boolean) => void): Lease;
  /** Releases all leases. Safe to call twice. */
  close(): Promise<void>;
}

export interface Lease {
  readonly held: boolean;
  /** Tries immediately to acquire a lease that is not held. Returns whether it is held. Never rejects. */
  attempt(): Promise<boolean>;
  /** Releases the lease after its task has ended. Others may acquire it when this resolves. */
  release(): Promise<void>;
}

/** Leases of a single process, which holds every lease that it wants. */
export class LocalLeases implements Leases {
  want(_name: string, listener: (isHeld: boolean) => void): Lease {
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

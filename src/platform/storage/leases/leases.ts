/**
 * Leases decide which of several processes on one database performs a task. A lease ends with its holder's database
 * connection, even if the database still considers the connection open.
 */
export interface Leases {
  /** Later calls `listener` with each change; it must not throw. */
  want(name: string, listener: (isHeld: boolean) => void): Lease;
  close(): Promise<void>;
}

export interface Lease {
  readonly held: boolean;
  /** Tries immediately to acquire a lease that is not held. Returns whether it is held. Never rejects. */
  attempt(): Promise<boolean>;
  /** Others may acquire the lease when this resolves. */
  release(): Promise<void>;
}

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

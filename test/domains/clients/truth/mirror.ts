/** An event of `connectedClients` with the fields of SUBSCRIPTION. */
export interface ClientsEvent {
  readonly kind: 'SNAPSHOT' | 'CHANGE' | 'GAP' | 'RESUMED';
  readonly sequence: number;
  readonly partsLeft: number;
  readonly missed: number | null;
  readonly removed: readonly string[];
  readonly clients: readonly MirroredClient[];
}

export interface MirroredClient {
  readonly clientId: string;
  readonly connected: boolean;
  readonly username: string;
}

export const SUBSCRIPTION = `subscription ($id: ID!, $after: SafeInt) { connectedClients(brokerId: $id, after: $after) {
  kind sequence partsLeft missed removed clients { clientId connected: isConnected username }
} }`;

/** The list of a watcher that applies the events exactly as documented. */
export class Mirror {
  readonly #clients = new Map<string, MirroredClient>();
  readonly #waiting = new Set<() => void>();
  readonly kinds: Record<ClientsEvent['kind'], number> = { SNAPSHOT: 0, CHANGE: 0, GAP: 0, RESUMED: 0 };
  /** The number that a later subscription may name. */
  resumeAt: number | null = null;
  failure: unknown = null;

  get events(): number {
    return Object.values(this.kinds).reduce((sum, count) => sum + count, 0);
  }

  apply({ kind, sequence, partsLeft, removed, clients }: ClientsEvent): void {
    this.kinds[kind] += 1;
    if (kind === 'SNAPSHOT') this.#clients.clear();
    for (const client of clients) this.#clients.set(client.clientId, client);
    for (const clientId of removed) this.#clients.delete(clientId);
    if (kind !== 'GAP' && partsLeft === 0) this.resumeAt = sequence;
    this.#wake();
  }

  fail(error: unknown): void {
    this.failure ??= error;
    this.#wake();
  }

  /** In order of ids. */
  held(isOther: (clientId: string) => boolean = () => false): MirroredClient[] {
    return [...this.#clients.values()]
      .filter(({ clientId }) => !isOther(clientId))
      .sort((a, b) => (a.clientId < b.clientId ? -1 : 1));
  }

  get size(): number {
    return this.#clients.size;
  }

  has(clientId: string): boolean {
    return this.#clients.has(clientId);
  }

  /** Checks after each event; false if `signal` is aborted first. Errors: those of the subscription. */
  async until(fits: () => boolean, signal?: AbortSignal): Promise<boolean> {
    for (;;) {
      if (this.failure) throw this.failure;
      if (fits()) return true;
      if (signal?.aborted) return false;
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal?.addEventListener('abort', wake);
      });
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

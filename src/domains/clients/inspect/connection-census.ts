/** Clients that may have disconnected; see uncertain-clients.ts. */
interface CountedClients {
  readonly uncertainCount: number;
  endUncertain(): void;
  setUncertain(isUnknown: boolean): void;
}

/**
 * Counts the connections of a broker that the followed log did not report.
 *
 * `$SYS/broker/clients/connected` sometimes gives the total. A live count arrives in order with the log lines, so the
 * difference to the known connections is exact at that moment. Until the next count the number of unknown connections
 * can only fall, because every new connection is logged.
 *
 * Mosquitto computes the count right after it publishes its uptime, and publishes the count only if it has changed. So
 * if the next message after an uptime is no count, the previous count is still valid. Connections without a client id
 * yet, and bridges that the broker opened itself, count as unknown.
 *
 * A retained count is older than the subscription by up to `sys_interval` (default 10 s). If it is zero, no client was
 * connected then, so there are no unknown connections. This holds only for the first connection of this service: after
 * a restart of the broker all clients reconnect at the same time. Any other retained count proves nothing, because it
 * may or may not include this service.
 *
 * A count below the number of known connections means that log lines were lost. The number of unknown connections is
 * then `null`.
 *
 * Some log lines do not prove that a client disconnected. Such clients count as known. If as many connections are
 * missing, all of them have disconnected, and there is no unknown connection. If the difference is what it was before,
 * they are presumably connected. Otherwise their state is unknown.
 */
export class ConnectionCensus {
  readonly #clients: CountedClients | null;
  #unknown: number | null = null;
  #lastCount: number | null = null;
  /** Number of known connections at an uptime that no count has followed yet. */
  #knownAtUptime: number | null = null;
  #counted = false;
  /** Whether a new connection was logged in a line that could not be read. */
  #hasUnreadConnect = false;
  #isFirst = true;
  readonly #waiting = new Set<() => void>();

  constructor(clients: CountedClients | null = null) {
    this.#clients = clients;
  }

  /**
   * Number of unknown connections, or an upper bound while the state of clients is unknown. `null` before the first
   * count, or if the last count cannot be right.
   */
  get unknown(): number | null {
    return this.#unknown;
  }

  /** Whether no live count has arrived yet, and the retained count leaves no room for an unknown connection. */
  get wasEmpty(): boolean {
    return this.#isFirst && !this.#hasUnreadConnect && !this.#counted && this.#lastCount === 0;
  }

  get isCounted(): boolean {
    return this.#counted;
  }

  uptimeReceived(known: number): void {
    this.messageReceived();
    this.#knownAtUptime = known;
  }

  countReceived(count: number, known: number, isRetained: boolean): void {
    this.#lastCount = count;
    if (!isRetained) this.#compare(count - known);
  }

  messageReceived(): void {
    if (this.#knownAtUptime !== null && this.#lastCount !== null) this.#compare(this.#lastCount - this.#knownAtUptime);
    this.#knownAtUptime = null;
  }

  /** 1: a client connected whose log line could not be read. -1: an unknown client disconnected. */
  unknownChanged(difference: -1 | 0 | 1): void {
    if (difference > 0) this.#hasUnreadConnect = true;
    if (this.#unknown !== null) this.#unknown = Math.max(0, this.#unknown + difference);
  }

  whenCounted(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#waiting.add(done);
    });
  }

  /** Call after the link was lost: connects and disconnects were missed. */
  reset(): void {
    this.#isFirst = false;
    this.#hasUnreadConnect = false;
    this.#unknown = null;
    this.#lastCount = null;
    this.#knownAtUptime = null;
    this.#counted = false;
  }

  close(): void {
    for (const done of this.#waiting) done();
  }

  /** @param difference number of connections beyond the known ones */
  #compare(difference: number): void {
    this.#knownAtUptime = null;
    this.#counted = true;
    this.#unknown = this.#unknownBy(difference);
    for (const done of this.#waiting) done();
  }

  #unknownBy(difference: number): number | null {
    const clients = this.#clients;
    const most = difference + (clients?.uncertainCount ?? 0);
    if (most < 0) return null;
    if (clients === null || most === difference) return difference;
    if (most === 0) {
      clients.endUncertain();
      return 0;
    }
    clients.setUncertain(difference !== this.#unknown);
    return Math.min(most, this.#unknown ?? most);
  }
}

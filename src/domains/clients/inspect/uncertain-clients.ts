import type { DisconnectedLine } from '../../../protocol/mosquitto-log/log-line.ts';
import type { ClientEntry } from './client-entry.ts';

interface LoggedEnd {
  readonly entry: ClientEntry;
  readonly line: DisconnectedLine;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * Clients whose connection may have ended: the log line may be about another connection, which was refused and used
 * their client id. They count as connected until all of them together prove otherwise, or until another line names the
 * client. A count of connections does not prove that they are connected, because a connection without a client may have
 * replaced theirs in it. Bound: the clients of the ledger.
 */
export class UncertainClients {
  readonly #ends = new Map<string, LoggedEnd>();

  /** Number of these clients. */
  get size(): number {
    return this.#ends.size;
  }

  /** Whether the state of a client is unknown. */
  get areUnknown(): boolean {
    for (const { entry } of this.#ends.values()) if (entry.isUncertain) return true;
    return false;
  }

  add(entry: ClientEntry, line: DisconnectedLine, at: number): void {
    entry.isUncertain = true;
    if (!this.#ends.has(entry.clientid)) this.#ends.set(entry.clientid, { entry, line, at });
  }

  /** Returns the line about the end; `undefined` if the client was certain. */
  delete(entry: ClientEntry): LoggedEnd | undefined {
    const end = this.#ends.get(entry.clientid);
    entry.isUncertain = false;
    this.#ends.delete(entry.clientid);
    return end;
  }

  /** Sets whether the state of all of them is unknown, or presumably connected. Returns the clients that changed. */
  setUnknown(isUnknown: boolean): readonly ClientEntry[] {
    const changed = [...this.#ends.values()]
      .map(({ entry }) => entry)
      .filter((entry) => entry.isUncertain !== isUnknown);
    for (const entry of changed) entry.isUncertain = isUnknown;
    return changed;
  }

  /** Removes all. */
  take(): readonly LoggedEnd[] {
    const ends = [...this.#ends.values()];
    this.clear();
    return ends;
  }

  clear(): void {
    for (const { entry } of this.#ends.values()) entry.isUncertain = false;
    this.#ends.clear();
  }
}

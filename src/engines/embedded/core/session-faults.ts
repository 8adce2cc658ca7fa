import type { BrokerStore } from '../store/broker-store.ts';
import type { Connection } from './connection.ts';

/**
 * Number of consecutive connections that fail while they resume a session, before the session is moved into quarantine.
 */
const MAX_FAULTS = 3;

/**
 * Finds sessions that cannot be resumed because of a fault of the broker. The session is moved into quarantine before
 * the next connection is admitted, so that the client starts a new session.
 */
export class SessionFaults {
  readonly #store: BrokerStore;
  readonly #counts = new Map<string, number>();

  constructor(store: BrokerStore) {
    this.#store = store;
  }

  /** A fault has closed the connection. */
  failed({ identity, isReady, isClean }: Connection): void {
    if (isReady || isClean || !identity) return;
    this.#counts.set(identity.clientId, (this.#counts.get(identity.clientId) ?? 0) + 1);
  }

  /** The session was resumed. */
  ready({ identity }: Connection): void {
    if (identity) this.#counts.delete(identity.clientId);
  }

  beforeAdmission(clientId: string): void {
    if ((this.#counts.get(clientId) ?? 0) < MAX_FAULTS) return;
    this.#counts.delete(clientId);
    const reason = `the broker failed ${MAX_FAULTS} times to resume it; the log has the reason`;
    this.#store.quarantine.move('session', [clientId], reason);
    this.#store.endSession(clientId);
  }
}

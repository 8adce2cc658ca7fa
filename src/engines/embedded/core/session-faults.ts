import type { BrokerStore } from '../store/broker-store.ts';
import type { Connection } from './connection.ts';

/** Connections in a row that a session ends while it is taken up, before it is moved into quarantine. */
const MAX_FAULTS = 3;

/**
 * Finds sessions that their client cannot take up again, because of a fault of the broker each time. Such a session is moved into quarantine
 * before the next connection is let in, so that the client begins a new one.
 */
export class SessionFaults {
  readonly #store: BrokerStore;
  readonly #counts = new Map<string, number>();

  constructor(store: BrokerStore) {
    this.#store = store;
  }

  /** A fault ended a connection. */
  failed({ identity, isReady, isClean }: Connection): void {
    if (isReady || isClean || !identity) return;
    this.#counts.set(identity.clientId, (this.#counts.get(identity.clientId) ?? 0) + 1);
  }

  /** The session was taken up. */
  ready({ identity }: Connection): void {
    if (identity) this.#counts.delete(identity.clientId);
  }

  beforeAdmission(clientId: string): void {
    if ((this.#counts.get(clientId) ?? 0) < MAX_FAULTS) return;
    this.#counts.delete(clientId);
    const reason = `its connection ended ${MAX_FAULTS} times while it was taken up; the log has the faults`;
    this.#store.quarantine.move('session', [clientId], reason);
    this.#store.endSession(clientId);
  }
}

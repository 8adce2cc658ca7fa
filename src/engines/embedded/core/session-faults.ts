import type { BrokerStore } from '../store/broker-store.ts';
import type { Connection } from './connection.ts';

/** Number of consecutive connections that fail to resume a session, before it is moved into quarantine. */
const MAX_FAULTS = 3;

/** Moves sessions that a fault prevents from being resumed into quarantine, before the next connection is admitted. */
export class SessionFaults {
  readonly #store: BrokerStore;
  readonly #counts = new Map<string, number>();

  constructor(store: BrokerStore) {
    this.#store = store;
  }

  failed({ identity, isReady, isClean }: Connection): void {
    if (isReady || isClean || !identity) return;
    this.#counts.set(identity.clientId, (this.#counts.get(identity.clientId) ?? 0) + 1);
  }

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

import { type Connection, IMPLEMENTATION_ERROR } from '../clients/connection.ts';
import type { BrokerStore } from '../store/broker-store.ts';

/** An exception that one packet or stored record caused, and that affected nothing else. */
export interface Fault {
  /** Whether a connection was closed, or a message or stored record was lost. */
  readonly kind: 'connection' | 'message' | 'record';
  readonly text: string;
  readonly error: unknown;
}

/** Number of consecutive connections that fail to resume a session, before it is moved into quarantine. */
const MAX_FAULTS = 3;

/** Handles exceptions that would otherwise end the worker thread. */
export class Faults {
  readonly report: (fault: Fault) => void;
  readonly #store: BrokerStore;
  /** Number of consecutive connections by client id that failed to resume the session. */
  readonly #notResumed = new Map<string, number>();

  constructor(report: (fault: Fault) => void, store: BrokerStore) {
    this.report = report;
    this.#store = store;
  }

  /** Closes the connection, if there is one. Never throws. */
  ofConnection(connection: Connection | undefined, text: string, error: unknown, reason = IMPLEMENTATION_ERROR): void {
    this.report({ kind: 'connection', text, error });
    if (!connection) return;
    this.failed(connection);
    try {
      void connection.disconnect(reason);
    } catch {
      connection.destroy();
    }
  }

  run(connection: Connection | undefined, text: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.ofConnection(connection, text, error);
    }
  }

  failed({ identity, isReady, isClean }: Connection): void {
    if (isReady || isClean || !identity) return;
    this.#notResumed.set(identity.clientId, (this.#notResumed.get(identity.clientId) ?? 0) + 1);
  }

  ready({ identity }: Connection): void {
    if (identity) this.#notResumed.delete(identity.clientId);
  }

  /** Moves a session into quarantine that faults prevent from being resumed. */
  beforeAdmission(clientId: string): void {
    if ((this.#notResumed.get(clientId) ?? 0) < MAX_FAULTS) return;
    this.#notResumed.delete(clientId);
    const reason = `the broker failed ${MAX_FAULTS} times to resume it; the log has the reason`;
    this.#store.quarantine.move('session', [clientId], reason);
    this.#store.endSession(clientId);
  }
}

import type { BrokerStore } from '../store/broker-store.ts';
import { type Connection, type DisconnectReason, IMPLEMENTATION_ERROR } from './connection.ts';

/** An exception that one packet or stored record caused, and that affected nothing else. */
export interface Fault {
  /** Whether a connection was closed, or a message or stored record was lost. */
  readonly kind: 'connection' | 'message' | 'record';
  readonly text: string;
  readonly error: unknown;
}

/** Handles exceptions that would end the worker thread, because aedes catches none of its callbacks. */
export class Faults {
  readonly #report: (fault: Fault) => void;
  readonly #onConnection: (connection: Connection) => void;

  constructor(report: (fault: Fault) => void, onConnection: (connection: Connection) => void) {
    this.#report = report;
    this.#onConnection = onConnection;
  }

  /** Closes the connection, if there is one. Never throws. */
  ofConnection(
    connection: Connection | undefined,
    text: string,
    error: unknown,
    reason: DisconnectReason = IMPLEMENTATION_ERROR,
  ): void {
    this.#report({ kind: 'connection', text, error });
    if (!connection) return;
    this.#onConnection(connection);
    try {
      void connection.disconnect(reason);
    } catch {
      connection.destroy();
    }
  }

  ofMessage(text: string, error: unknown): void {
    this.#report({ kind: 'message', text, error });
  }

  ofRecord(text: string, error: unknown): void {
    this.#report({ kind: 'record', text, error });
  }

  run(connection: Connection | undefined, text: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.ofConnection(connection, text, error);
    }
  }
}

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

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

import type { Connection } from './connection.ts';
import { type DisconnectReason, IMPLEMENTATION_ERROR } from './connection.ts';

/** An exception that one packet or one stored record caused, and that ended nothing else. */
export interface Fault {
  /** What was given up for it. */
  readonly kind: 'connection' | 'message' | 'record';
  /** What the broker did when it was thrown. */
  readonly text: string;
  readonly error: unknown;
}

/**
 * Where exceptions end that would otherwise end the thread. aedes calls the broker from socket events, immediates and promises, and catches
 * nothing, so every border between aedes and this broker passes what is thrown to here. Each fault is reported, to be counted and logged
 * with its stack.
 */
export class Faults {
  readonly #report: (fault: Fault) => void;
  readonly #onConnection: (connection: Connection) => void;

  /** `onConnection` is called for each connection that a fault ends. */
  constructor(report: (fault: Fault) => void, onConnection: (connection: Connection) => void) {
    this.#report = report;
    this.#onConnection = onConnection;
  }

  /** Ends the connection, if there is one. Never throws. */
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
      void connection.end(reason);
    } catch {
      connection.destroy();
    }
  }

  /** A message that cannot be delivered, or not to everybody. */
  ofMessage(text: string, error: unknown): void {
    this.#report({ kind: 'message', text, error });
  }

  /** A stored record that the broker goes on without. */
  ofRecord(text: string, error: unknown): void {
    this.#report({ kind: 'record', text, error });
  }

  /** Calls `work`, and ends the connection if it throws. */
  run(connection: Connection | undefined, text: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.ofConnection(connection, text, error);
    }
  }
}

/** Who a connection is, once it was let in. */
export interface Identity {
  readonly clientId: string;
  /** Null: anonymous. */
  readonly username: string | null;
}

export interface Credentials {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: Uint8Array | undefined;
  /** Network that the client connects from, see `networkOf`. */
  readonly network: string;
  /** Whether the client still waits for the result. */
  readonly isWanted: () => boolean;
}

/**
 * - ACCEPTED: the client is let in.
 * - REFUSED: unknown user, wrong password, disabled, or anonymous where that is refused. Clients are not told which.
 * - THROTTLED: too many wrong passwords from this network; the password was not checked.
 * - BUSY: too many passwords wait to be checked, or the client has gone.
 */
export type Verdict = 'ACCEPTED' | 'REFUSED' | 'THROTTLED' | 'BUSY';

/**
 * Every access decision of the embedded broker. Called for each message, so the `may…` methods answer at once and from memory.
 * They are never asked about what no client may have: shared subscriptions and the broker core's own topics.
 */
export interface AccessControl {
  authenticate(credentials: Credentials): Promise<Verdict>;
  mayPublish(identity: Identity, topic: string): boolean;
  maySubscribe(identity: Identity, filter: string): boolean;
  mayReceive(identity: Identity, topic: string): boolean;
  mayUnsubscribe(identity: Identity, filter: string): boolean;
}

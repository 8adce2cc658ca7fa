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
}

/**
 * ACCEPTED lets the client in. REFUSED: unknown user, wrong password, disabled, anonymous where that is refused; which of them
 * is not told to the client. BUSY: too many passwords wait to be checked.
 */
export type Verdict = 'ACCEPTED' | 'REFUSED' | 'BUSY';

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

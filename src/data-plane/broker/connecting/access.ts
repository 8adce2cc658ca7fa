export interface Identity {
  readonly clientId: string;
  readonly username: string | null;
}

export interface Credentials {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: Uint8Array | undefined;
  /** Network from which the client connects, see `networkOf`. Empty without a user name. */
  readonly network: string;
  /** Whether the client still waits for the result. */
  readonly isWanted: () => boolean;
}

/**
 * REFUSED: the account or the password, and the client does not learn which. THROTTLED: too many wrong passwords from
 * this network. BUSY: too many passwords wait to be checked, or the client has disconnected.
 */
export type Verdict = 'ACCEPTED' | 'REFUSED' | 'THROTTLED' | 'BUSY';

/** Decides what clients may do. `Admission` refuses shared subscriptions and internal topics without asking it. */
export interface AccessControl {
  authenticate(credentials: Credentials): Promise<Verdict>;
  /** `null`: clients without a user name. */
  hasAccount(username: string | null): boolean;
  mayPublish(identity: Identity, topic: string): boolean;
  maySubscribe(identity: Identity, filter: string): boolean;
  mayReceive(identity: Identity, topic: string): boolean;
  mayUnsubscribe(identity: Identity, filter: string): boolean;
}

import type { ClientWill } from '../../../protocol/apis/clients/inspect-data.ts';

export interface Identity {
  readonly clientId: string;
  readonly username: string | null;
}

/** The client that a connection was admitted for. */
export interface AdmittedIdentity extends Identity {
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  /** The same for the end of the previous connection of the session; `null` if there is none. */
  readonly previousDisconnect: number | null;
  /** Why the previous connection of the client ended, in the words of Mosquitto. `null` if it is not known. */
  readonly previousEnd: string | null;
  /** Whether the account could publish the will when the client was admitted. */
  readonly couldPublishWill: boolean;
}

export interface WillInfo extends Omit<ClientWill, 'payload'> {
  readonly payload: Uint8Array;
}

/** The fields of CONNECT that hold as long as the connection. */
export interface ConnectRequest {
  /** 0 before CONNECT. */
  readonly protocolVersion: 0 | 3 | 4 | 5;
  /** Seconds; 0: no limit. */
  readonly keepalive: number;
  readonly isCleanStart: boolean;
  /** MQTT 5: Maximum Packet Size. `null`: no limit. */
  readonly maxPacketBytes: number | null;
  /** MQTT 5: whether the client wants Reason Strings. */
  readonly wantsReasons: boolean;
  readonly will: WillInfo | null;
}

export const NO_REQUEST: ConnectRequest = {
  protocolVersion: 0,
  keepalive: 0,
  isCleanStart: true,
  maxPacketBytes: null,
  wantsReasons: true,
  will: null,
};

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

/** Decides what clients may do. */
export interface AccessControl {
  authenticate(credentials: Credentials): Promise<Verdict>;
  /** `null`: clients without a user name. */
  hasAccount(username: string | null): boolean;
  mayPublish(identity: Identity, topic: string): boolean;
  maySubscribe(identity: Identity, filter: string): boolean;
  mayReceive(identity: Identity, topic: string): boolean;
  mayUnsubscribe(identity: Identity, filter: string): boolean;
}

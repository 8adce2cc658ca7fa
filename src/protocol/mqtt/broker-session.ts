import type { ServiceError } from '../../platform/errors.ts';

/**
 * What a control plugin, the control client and the followers of `$SYS` know of a broker: publish, subscribe, state.
 * They cannot tell whether the broker is remote or embedded.
 */
export interface BrokerMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Where the link acknowledges on demand: the bytes of its properties (MQTT 5), for readPublishProperties; undefined: it has none. */
  readonly properties?: Buffer | undefined;
  /** Where the link acknowledges on demand: see StreamMessage.hold. */
  hold?(): () => void;
}

export interface PublishOptions {
  readonly qos?: 0 | 1 | 2;
  readonly retain?: boolean;
  /** Of writePublishProperties; left out with MQTT 3.1.1. */
  readonly properties?: Buffer | undefined;
}

export interface SubscribeOptions {
  readonly qos?: 0 | 1 | 2;
  /** Whether messages come that the broker keeps. Default true. */
  readonly retained?: boolean;
  /** MQTT 5 alone, of a filter with one subscriber: what this connection publishes itself does not come (No Local, 3.8.3.1). */
  readonly noLocal?: boolean;
  /** MQTT 5 alone: live messages keep the retain flag (Retain As Published, 3.8.3.1), and come without `retained`, too; not to be set with 3.1.1. */
  readonly retainAsPublished?: boolean;
  /** Messages that the broker keeps come only where the session did not have the filter yet (Retain Handling 1, MQTT 5, 3.8.3.1; with 3.1.1 as far as the link knows). */
  readonly retainedOnce?: boolean;
  /** Called before the messages are told that come after the broker's answer, and before `subscribe` resolves. */
  readonly onGranted?: () => void;
  /** The broker refused the filter, which it had granted before, when the link had connected again; it is asked anew next time. */
  readonly onRefused?: (error: ServiceError) => void;
}

/**
 * connecting: the first attempt, or one after a change of settings. unauthorised: the broker refused the credentials
 * (CONNACK 4/5, MQTT 5 0x86/0x87). unreachable: no connection, or the last one was lost. closed: given up on purpose.
 */
export type LinkState = 'CONNECTING' | 'CONNECTED' | 'UNAUTHORISED' | 'UNREACHABLE' | 'CLOSED';

export interface LinkStatus {
  readonly state: LinkState;
  /** Epoch milliseconds of the last change of `state`. */
  readonly since: number;
  /** Why it is not connected; never holds a URL, a user name or a secret. */
  readonly lastError?: string;
  /** While CONNECTED: the broker kept the session, so messages of QoS 1 and 2 that came meanwhile are not lost. */
  readonly resumed?: boolean;
}

/**
 * What is done to the session of another client. DISCONNECT: nothing beside ending the client's connection. `retainHandling` as in
 * MQTT 5, 3.8.3.1; by default the broker sends no retained messages for the new subscription. The options of a subscription count
 * with MQTT 5 only.
 */
export type SessionAction =
  | { readonly kind: 'DISCONNECT' }
  | { readonly kind: 'UNSUBSCRIBE'; readonly filter: string }
  | {
      readonly kind: 'SUBSCRIBE';
      readonly filter: string;
      readonly qos: 0 | 1 | 2;
      readonly noLocal?: boolean;
      readonly retainAsPublished?: boolean;
      readonly retainHandling?: 0 | 1 | 2;
      readonly identifier?: number;
    };

export interface TakenSession {
  /** False: there was no session that outlived the client's connection, so nothing was done to it. */
  readonly sessionPresent: boolean;
}

/** Ends a subscription or a listener. */
export type Stop = () => void;

export interface BrokerSession {
  readonly clientId: string;
  /** The user name that it gives to the broker; null: none. Absent where it says none of it. */
  readonly username?: string | null;
  /** Of its connection: MQTT over WebSocket, and the seconds between signs of life. Absent where it says none of it. */
  readonly isWebSocket?: boolean;
  readonly keepaliveSeconds?: number;
  readonly status: LinkStatus;
  /** 5 or 4 (3.1.1) once connected; null before. */
  readonly protocolVersion: 4 | 5 | null;
  /** Each change of status from now on, never twice the same state in a row. */
  onStatus(listener: (status: LinkStatus) => void): Stop;
  /**
   * Resolves when sent (QoS 0) or acknowledged (QoS 1, 2). Nothing is queued while the link is down.
   * Errors: BROKER_UNREACHABLE, BROKER_TIMEOUT, NOT_ALLOWED (MQTT 5 PUBACK 0x87).
   */
  publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<void>;
  /**
   * Keeps `filter` subscribed across reconnects until stopped; several subscribers of one filter share it. `listener`
   * runs for each message that matches the filter. Rejects when the broker refuses the filter (NOT_ALLOWED) or is down
   * at the first attempt and `BROKER_UNREACHABLE` — the subscription is then not kept.
   */
  subscribe(filter: string, listener: (message: BrokerMessage) => void, options?: SubscribeOptions): Promise<Stop>;
  /**
   * Opens a second connection with the same settings, ends it at once and resolves with the client id it had: the broker
   * then has told its log about a connection that we know of. Absent where there is no such log.
   */
  knock?(): Promise<string>;
  /**
   * Connects once, with the same settings, in the place of another client and disconnects again: take-over.ts says what
   * that does to the client. Absent where nobody's place can be taken.
   */
  takeOver?(clientId: string, action: SessionAction): Promise<TakenSession>;
}

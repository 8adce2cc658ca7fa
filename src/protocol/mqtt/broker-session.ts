import type { ServiceError } from '../../platform/errors.ts';

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Whether it was reported on an earlier connection: the broker did not receive the acknowledgement. MQTT 5 only. */
  readonly isRepeated?: boolean;
  /** How often the broker may have dropped messages of QoS 1 or 2 for the link before; see PacketOrder. */
  readonly gapsBefore?: number;
  /** Encoded properties for readPublishProperties; `undefined`: none. Only on links with `isLasting`. */
  readonly properties?: Buffer | undefined;
  /** Delays the acknowledgement; see StreamMessage.hold. Only on links with `isLasting`. */
  hold?(): () => void;
}

export interface PublishOptions {
  readonly qos?: 0 | 1 | 2;
  readonly retain?: boolean;
  /** Encoded by writePublishProperties. Ignored with MQTT 3.1.1. */
  readonly properties?: Buffer | undefined;
}

export interface SubscribeOptions {
  readonly qos?: 0 | 1 | 2;
  readonly retained?: boolean;
  /** No Local (MQTT 5, 3.8.3.1). Only for filters with one subscriber. Default: false. */
  readonly noLocal?: boolean;
  /** Retain As Published (MQTT 5, 3.8.3.1); independent of `retained`. Invalid with 3.1.1. Default: false. */
  readonly retainAsPublished?: boolean;
  /**
   * Whether retained messages are delivered only if the session did not have the filter (Retain Handling 1; with 3.1.1
   * as far as the link knows). Default: false.
   */
  readonly retainedOnce?: boolean;
  /** Called at SUBACK, before the messages that follow it are reported and before `subscribe` resolves. */
  readonly onGranted?: () => void;
  /** Called if the broker refuses the filter after a reconnect. The link subscribes again after the next reconnect. */
  readonly onRefused?: (error: ServiceError, filter: string) => void;
}

/**
 * CONNECTING: the first attempt. UNAUTHORIZED: the broker refused the credentials. UNREACHABLE: no connection. CLOSED:
 * closed by this service.
 */
export type LinkState = 'CONNECTING' | 'CONNECTED' | 'UNAUTHORIZED' | 'UNREACHABLE' | 'CLOSED';

export interface LinkStatus {
  readonly state: LinkState;
  /** ISO 8601: responses contain it, and formatting a number takes longer than the other fields of a broker. */
  readonly since: string;
  /** Why the link is not connected. Never contains a URL, a user name or a secret. */
  readonly lastError?: string;
  /** While UNREACHABLE: whether the link was connected until `since`. */
  readonly wasConnected?: boolean;
  /** While UNREACHABLE: whether the lost connection had been silent, for at most one and a half times the keepalive. */
  readonly wasSilent?: boolean;
  /** While CONNECTED: whether the session was resumed, so that no message of QoS 1 and 2 was lost. */
  readonly resumed?: boolean;
}

/**
 * An action on the session of another client. The subscription options require MQTT 5; `retainHandling` is 2 by
 * default: the broker sends no retained messages.
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
  /** Session Present of CONNACK. If false, the broker had ended the client's session, and nothing was done in it. */
  readonly sessionPresent: boolean;
}

export type Stop = () => void;

export interface BrokerSession {
  readonly clientId: string;
  /** User name of the connection; `null`: none; `undefined`: unknown. */
  readonly username?: string | null;
  /** Whether the connection is MQTT over WebSocket; `undefined`: unknown. */
  readonly isWebSocket?: boolean;
  readonly keepaliveSeconds?: number;
  readonly status: LinkStatus;
  /** 5, or 4 for 3.1.1; `null` before the first connection. */
  readonly protocolVersion: 4 | 5 | null;
  onStatus(listener: (status: LinkStatus) => void): Stop;
  /**
   * Resolves when the message was sent (QoS 0) or acknowledged. Nothing is queued while the link is down. Errors:
   * BROKER_UNREACHABLE, BROKER_TIMEOUT, NOT_ALLOWED (MQTT 5 PUBACK 0x87).
   */
  publish(topic: string, payload: Uint8Array | string, options?: PublishOptions): Promise<void>;
  /**
   * Subscribes across reconnects until stopped; several subscribers share one filter. Errors, after which the
   * subscription does not exist: NOT_ALLOWED, BROKER_UNREACHABLE.
   */
  subscribe(filter: string, listener: (message: BrokerMessage) => void, options?: SubscribeOptions): Promise<Stop>;
  /**
   * Opens and closes a second connection and returns its client identifier, which the broker's log must then contain.
   * `undefined` if the broker has no such log.
   */
  knock?(): Promise<string>;
  /** See take-over.ts. `undefined` if this is not possible. */
  takeOver?(clientId: string, action: SessionAction): Promise<TakenSession>;
  /**
   * Call it when the broker's log reports that another client takes over the client id of this session, just before the
   * connection ends. `address`: its IP address; `null` if it is not known.
   */
  noteTakeover?(address: string | null): void;
  /**
   * Sets what is called when the broker ends the connection because another client takes over the client id. It returns
   * where that client probably connected from; `null` if it is not known.
   */
  explainTakeovers?(addressOf: () => string | null): void;
}

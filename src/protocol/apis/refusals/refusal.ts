import type { DecisionReason, LookedAtRule } from '../access-control/access-explanation.ts';
import type { Rival } from './client-id-fights.ts';

/**
 * What was refused. PACKET: a connected client broke the protocol, so the broker closed its connection. TAKEOVER: the
 * connection was closed because another client uses the client id.
 */
export const REFUSAL_KINDS = ['CONNECT', 'PACKET', 'TAKEOVER', 'PUBLISH', 'SUBSCRIBE', 'UNSUBSCRIBE'] as const;
export type RefusalKind = (typeof REFUSAL_KINDS)[number];

/** See the descriptions in the schema. */
export const REFUSAL_REASONS = [
  'UNKNOWN_ACCOUNT',
  'WRONG_PASSWORD',
  'PASSWORD_MISSING',
  'USERNAME_MISSING',
  'ACCOUNT_DISABLED',
  'CLIENT_ID_OF_ACCOUNT',
  'NOT_AUTHORIZED',
  'THROTTLED',
  'BUSY',
  'CLIENT_ID_REJECTED',
  'SESSION_OF_ACCOUNT',
  'TAKEN_OVER',
  'WILL_REJECTED',
  'TOO_MANY_CONNECTIONS',
  'TOO_MANY_SESSIONS',
  'NO_CONNECT',
  'PROTOCOL_VERSION',
  'PROTOCOL_ERROR',
  'MALFORMED_PACKET',
  'PACKET_TOO_LARGE',
  'NOT_SUPPORTED',
  'TLS_ON_PLAIN_LISTENER',
  'PLAIN_ON_TLS_LISTENER',
  'TLS_CERTIFICATE_MISSING',
  'TLS_CERTIFICATE_NOT_TRUSTED',
  'TLS_CERTIFICATE_EXPIRED',
  'TLS_REFUSED_BY_CLIENT',
  'TLS_INCOMPATIBLE',
  'TLS_TIMEOUT',
  'TLS_NOT_CONFIGURED',
  'TLS_FAILED',
  'WEBSOCKET_REQUEST',
  'ACCESS_DENIED',
  'INVALID_TOPIC',
  'TOO_MANY_SUBSCRIPTIONS',
  'TOO_MANY_RETAINED',
  'BROKER_ERROR',
  'OTHER',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** One refused connection or packet. Fields that the broker does not report are `null`. */
export interface Refused {
  readonly kind: RefusalKind;
  readonly reason: RefusalReason;
  readonly clientId: string | null;
  /** As the client sent it; the account may not exist. */
  readonly username: string | null;
  readonly address: string | null;
  readonly listenerPort: number | null;
  /** A topic name; a topic filter with SUBSCRIBE and UNSUBSCRIBE. */
  readonly topic: string | null;
  /** MQTT reason code or return code that the client got. */
  readonly reasonCode: number | null;
  /** Further details in the words of the broker. */
  readonly detail: string | null;
  /** TAKEOVER: the connection that replaced this one. Default: `null`. */
  readonly takenOverBy?: Rival | null;
}

/** Why access control denied a topic, in the terms of `explainAccess`. */
export interface Denial {
  readonly decision: DecisionReason;
  readonly decidedBy: LookedAtRule | null;
}

/** Equal refusals, merged. */
export interface Refusal extends Refused {
  readonly id: string;
  /** Number of the last change in the log. Grows with each refusal. */
  readonly sequence: number;
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
  /** Whether these are refusals of several names, because one network had too many. */
  readonly isMerged: boolean;
  readonly denial: Denial | null;
}

/** Maximum number of entries of a broker. The entry that was refused least recently is dropped first. */
export const MAX_REFUSALS = 1_000;

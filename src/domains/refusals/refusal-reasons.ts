import type { RefusalReason } from '../../protocol/apis/refusals/refusal.ts';
import { tlsReasonOf } from '../../protocol/apis/refusals/tls-reasons.ts';
import {
  CLOSED_BY_CLIENT,
  type DisconnectedLine,
  NOT_AUTHORISED,
  TIMED_OUT,
  UNKNOWN_CLIENT,
} from '../../protocol/mosquitto-log/log-line.ts';

/** What explains the end in an earlier line. */
interface Cause {
  readonly isTls: boolean;
  readonly detail: string;
}

/** A refused connection or packet, in terms of refusals. */
export interface Explained {
  readonly reason: RefusalReason;
  readonly detail: string | null;
}

/** The words of the log for the end of a connection, in lower case. */
const ENDS: Readonly<Record<string, RefusalReason>> = Object.assign(Object.create(null), {
  [NOT_AUTHORISED]: 'NOT_AUTHORIZED',
  'bad username or password': 'NOT_AUTHORIZED',
  'client banned': 'NOT_AUTHORIZED',
  'protocol error': 'PROTOCOL_ERROR',
  'malformed packet': 'MALFORMED_PACKET',
  'oversize packet': 'PACKET_TOO_LARGE',
  'packet too large': 'PACKET_TOO_LARGE',
  'oversize payload': 'PACKET_TOO_LARGE',
  'qos too high or retain not supported': 'NOT_SUPPORTED',
  'using not allowed feature (qos too high, retain not supported, or bad auth method)': 'NOT_SUPPORTED',
  'used disallowed feature (qos too high, retain not supported, or bad auth method)': 'NOT_SUPPORTED',
  'requested qos not supported on server': 'NOT_SUPPORTED',
  'retain not supported': 'NOT_SUPPORTED',
  'bad authentication method': 'NOT_SUPPORTED',
  'client identifier not valid': 'CLIENT_ID_REJECTED',
  'topic alias invalid': 'PROTOCOL_ERROR',
  'receive maximum exceeded': 'PROTOCOL_ERROR',
  'exceeding the receive maximum': 'PROTOCOL_ERROR',
  'duplicate property in property list': 'PROTOCOL_ERROR',
  'invalid function arguments provided': 'PROTOCOL_ERROR',
  'invalid arguments provided': 'PROTOCOL_ERROR',
  'invalid input': 'PROTOCOL_ERROR',
  'unknown error': 'PROTOCOL_ERROR',
  'non-matching http origin': 'WEBSOCKET_REQUEST',
  'connection rate exceeded': 'BUSY',
  'server busy': 'BUSY',
  'out of memory': 'BROKER_ERROR',
  'quota exceeded': 'OTHER',
  'server unavailable': 'BUSY',
  'implementation specific error': 'OTHER',
});

/** The same words for a connection that was not admitted. Only a will is checked before that. */
const ENDS_BEFORE_CONNECT: Readonly<Record<string, RefusalReason>> = Object.assign(Object.create(null), {
  [TIMED_OUT]: 'NO_CONNECT',
  'access denied by acl': 'WILL_REJECTED',
});

/** The same words before the client id is known. */
const ENDS_BEFORE_ID: Readonly<Record<string, RefusalReason>> = Object.assign(Object.create(null), {
  'unknown error': 'WEBSOCKET_REQUEST',
});

/** The same words of a CONNECT with a client id. Mosquitto 2.1 ends it like this at `global_max_clients`. */
const ENDS_OF_CONNECT: Readonly<Record<string, RefusalReason>> = Object.assign(Object.create(null), {
  'invalid input': 'TOO_MANY_SESSIONS',
});

/** Ends whose reason says as much as the words. */
const PLAIN = new Set([NOT_AUTHORISED, TIMED_OUT, 'protocol error', 'malformed packet', 'oversize packet']);

const DETAILS: readonly (readonly [RegExp, RefusalReason])[] = [
  [/appears to be using TLS/, 'TLS_ON_PLAIN_LISTENER'],
  [/invalid protocol (?:version |")/i, 'PROTOCOL_VERSION'],
  [/\bWill\b/, 'WILL_REJECTED'],
  [/zero length clientid/, 'CLIENT_ID_REJECTED'],
  [/subscription string/, 'INVALID_TOPIC'],
  [/^Too high QoS/, 'NOT_SUPPORTED'],
  [/^Invalid QoS/, 'MALFORMED_PACKET'],
];

const DENIALS: readonly (readonly [RegExp, RefusalReason])[] = [
  [/max_connections/, 'TOO_MANY_CONNECTIONS'],
  [/tcpd/, 'NOT_AUTHORIZED'],
  [/PROXY/, 'PROTOCOL_ERROR'],
  [/did not connect using TLS/, 'PLAIN_ON_TLS_LISTENER'],
];

/**
 * Why the broker ended a connection; `null` if it refused nothing.
 *
 * @param isAdmitted whether the connection had a client
 */
export function explainEnd(line: DisconnectedLine, isAdmitted: boolean, cause: Cause | null): Explained | null {
  const explained = isAdmitted ? admittedEnd(line) : refusedEnd(line, cause);
  if (explained === null || cause === null || cause.isTls) return explained;
  const reason = DETAILS.find(([pattern]) => pattern.test(cause.detail))?.[1];
  return { reason: reason ?? explained.reason, detail: cause.detail };
}

/** Why the broker closed a connection before its first packet. */
export const explainDenial = (detail: string): Explained => ({
  reason: DENIALS.find(([pattern]) => pattern.test(detail))?.[1] ?? tlsReasonOf(detail),
  detail,
});

/** With a capital letter, the error is of TLS. */
const TLS_ERROR = 'Protocol error';

/** Once a client is admitted, an error of TLS means that the connection was lost. */
const admittedEnd = ({ reason }: DisconnectedLine): Explained | null =>
  reason === TLS_ERROR ? null : explained(ENDS, reason);

function refusedEnd({ reason, clientid, isPlaceholder }: DisconnectedLine, cause: Cause | null): Explained | null {
  if (cause?.isTls && reason !== CLOSED_BY_CLIENT) return { reason: tlsReasonOf(cause.detail), detail: cause.detail };
  // 2.1 has these words for WebSocket frames, too, and logs the error of TLS before.
  if (reason === TLS_ERROR && clientid === UNKNOWN_CLIENT) return { reason: 'TLS_FAILED', detail: null };
  const ofId = isPlaceholder ? ENDS_BEFORE_ID : ENDS_OF_CONNECT;
  return explained(ofId, reason) ?? explained(ENDS_BEFORE_CONNECT, reason) ?? explained(ENDS, reason);
}

function explained(reasons: Readonly<Record<string, RefusalReason>>, words: string): Explained | null {
  const reason = reasons[words.toLowerCase()];
  return reason === undefined ? null : { reason, detail: PLAIN.has(words.toLowerCase()) ? null : words };
}

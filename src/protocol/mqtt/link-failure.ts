import { tlsProblem } from '../../platform/network/tls-failure.ts';
import type { LinkState, LinkStatus } from './broker-session.ts';
import { isConnackTimeout, isKeepaliveTimeout } from './mqttjs-internals.ts';
import { LinkLimitExceeded } from './packet-limits.ts';

/** Why a connection attempt failed or a connection ended. The text never contains a URL, a user name or a secret. */
export interface LinkFailure {
  readonly state: Extract<LinkState, 'UNAUTHORIZED' | 'UNREACHABLE'>;
  readonly text: string;
  readonly isPortClosed?: boolean;
  readonly isTakenOver?: boolean;
  /** Whether the broker sent nothing any longer. */
  readonly isSilent?: boolean;
  /** Whether the broker closed the socket without DISCONNECT, and with unread data. */
  readonly isReset?: boolean;
}

const REFUSED = "Connection refused: nothing listens on the broker's port";
const BROKER = { name: 'the broker', ca: 'CA certificate' } as const;
const NO_TLS = 'The port of the broker does not speak TLS';
const RESET = 'The broker reset the connection';
export const SILENT = 'The broker did not answer in time';
const NOT_MQTT = 'The broker did not follow the MQTT protocol';
const UNROUTABLE = "There is no network route to the broker's host";

/** Texts by the code of a socket. */
const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: REFUSED,
  ENOTFOUND: "The broker's host name cannot be resolved",
  EAI_AGAIN: "The broker's host name cannot be resolved at the moment",
  EHOSTNOTALLOWED: "The broker's host name resolves to an address that is not allowed (setting BROKER_ALLOWED_HOSTS)",
  ETIMEDOUT: SILENT,
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 'The broker sent a message that exceeds the size limit',
  EHOSTUNREACH: UNROUTABLE,
  ENETUNREACH: UNROUTABLE,
  ECONNRESET: RESET,
  EPIPE: RESET,
  EPROTO: NO_TLS,
};

/** MQTT 5 reason codes with the meaning of the return codes 1 to 5 of MQTT 3.1.1. */
const REASON_CODES: readonly (number | undefined)[] = [undefined, 132, 133, 136, 134, 135];

const BY_CONNACK: Readonly<Record<number, string>> = {
  132: 'The broker does not support this version of MQTT',
  133: 'The broker refused the client id',
  134: 'The broker refused the user name or password',
  135: 'The broker does not allow this user to connect',
  136: 'The broker is not available at the moment',
  137: 'The broker is busy',
  138: 'The broker has banned this client',
  140: 'The broker requires another authentication method',
  151: 'The broker has no quota left for this client',
  156: 'The broker redirects to another server',
  157: 'The broker has moved to another server',
  159: 'The broker limits the rate of connections',
};

const UNAUTHORIZED_CODES = new Set([134, 135, 138, 140]);

/** MQTT 5, 3.14.2.1. */
const TAKEN_OVER = 142;
const TAKEN_OVER_TEXT = 'Another connection took over the client id';

const BY_DISCONNECT: Readonly<Record<number, string>> = {
  135: 'The broker ended the connection: no longer authorised',
  137: 'The broker ended the connection: it is busy',
  139: 'The broker is shutting down',
  141: 'The broker ended the connection: keepalive timeout',
  [TAKEN_OVER]: TAKEN_OVER_TEXT,
  149: 'The broker ended the connection: a message was too large',
  151: 'The broker ended the connection: quota exceeded',
  152: 'The broker ended the connection by an administrative action',
};

export const CLOSED_BEFORE_CONNACK =
  'The broker closed the connection before it responded: check that the port is an MQTT port';
const CLOSED_BY_BROKER = 'The broker closed the connection';

export function refusedConnect(code: number): LinkFailure {
  const reasonCode = REASON_CODES[code] ?? code;
  return {
    state: UNAUTHORIZED_CODES.has(reasonCode) ? 'UNAUTHORIZED' : 'UNREACHABLE',
    text: BY_CONNACK[reasonCode] ?? `The broker refused the connection (reason code ${code})`,
  };
}

/** Another client took over the client id. `address`: where it connected from; `null` if it is not known. */
export const takenOverFrom = (address: string | null): LinkFailure => ({
  state: 'UNREACHABLE',
  text: address === null ? TAKEN_OVER_TEXT : `${TAKEN_OVER_TEXT}: its address is ${address}`,
  isTakenOver: true,
});

export function disconnected(code: number | undefined): LinkFailure {
  const text = (code === undefined ? undefined : BY_DISCONNECT[code]) ?? CLOSED_BY_BROKER;
  return { state: 'UNREACHABLE', text, isTakenOver: code === TAKEN_OVER };
}

/** With these texts a caller could look for the open ports of hosts that only this service reaches. */
const REACHABILITY = new Set([REFUSED, SILENT, UNROUTABLE, RESET, NO_TLS, NOT_MQTT, CLOSED_BEFORE_CONNACK]);
const HIDDEN = 'The broker cannot be reached: administrators of the project see the reason';

/** The status for a caller who is no administrator of the project. */
export const withoutReachability = (status: LinkStatus): LinkStatus =>
  status.lastError !== undefined && REACHABILITY.has(status.lastError) ? { ...status, lastError: HIDDEN } : status;

/** Whether an error of a connection to any server is such a text for a broker. */
export const isOfReachability = (error: unknown): boolean => REACHABILITY.has(failureOf(error).text);

/** Describes a socket, TLS, WebSocket or protocol error without its message, which may contain a URL. */
export function failureOf(error: unknown): LinkFailure {
  if (error instanceof LinkLimitExceeded) return { state: 'UNREACHABLE', text: error.message };
  const code = codeOf(error);
  if (typeof code === 'number') return refusedConnect(code);
  const isReset = code === 'ECONNRESET' || code === 'EPIPE';
  const isSilent = code === 'ETIMEDOUT' || (error instanceof Error && isKeepaliveTimeout(error));
  return { state: 'UNREACHABLE', text: textOf(code, error), isPortClosed: code === 'ECONNREFUSED', isReset, isSilent };
}

/** Texts by the code of an error of OpenSSL. The first matching row applies. */
const BY_PATTERN: readonly (readonly [RegExp, string])[] = [
  [/^ERR_OSSL|PEM|KEY_VALUES_MISMATCH|ERR_CRYPTO/, 'The certificate or key configured for the broker cannot be read'],
  [/^ERR_SSL/, 'The TLS handshake with the broker failed'],
];

function textOf(code: string, error: unknown): string {
  const known = BY_CODE[code] ?? tlsProblem(error, BROKER) ?? BY_PATTERN.find(([pattern]) => pattern.test(code))?.[1];
  if (known) return known;
  if (!(error instanceof Error)) return NOT_MQTT;
  if (isConnackTimeout(error)) return SILENT;
  if (isKeepaliveTimeout(error)) return 'The broker stopped responding';
  if (/Unexpected server response/.test(error.message))
    return 'The host does not offer MQTT over WebSocket at this path';
  return NOT_MQTT;
}

function codeOf(error: unknown): string | number {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  const { code } = error;
  return typeof code === 'number' || typeof code === 'string' ? code : '';
}

/**
 * A line of Mosquitto's log. Lines contain client ids and user names unescaped, so a client can imitate other lines.
 * The results may be displayed, but permissions must never depend on them.
 */
export type LogLine = { readonly at: number | null } & LineMeaning;

export type LineMeaning =
  | { readonly kind: 'OPENED'; readonly address: string; readonly port: number; readonly listenerPort: number }
  | ConnectedLine
  /** The line is truncated, or later lines about the client may be, so the client is unknown. */
  | { readonly kind: 'CONNECTED_UNREAD'; readonly address: string; readonly port: number }
  | { readonly kind: 'TLS'; readonly clientid: string; readonly tls: TlsUse }
  | DisconnectedLine
  | { readonly kind: 'EXPIRED'; readonly clientid: string }
  | (SubscriptionLine & { readonly kind: 'SUBSCRIBED'; readonly qos: number })
  | (SubscriptionLine & { readonly kind: 'UNSUBSCRIBED' })
  | CauseLine
  | DeniedLine
  /** The broker has started. Earlier connections do not exist any longer. */
  | { readonly kind: 'STARTED' }
  /** The broker reads its configuration again. Lines about ends that follow may be about stored sessions. */
  | { readonly kind: 'RELOADED' }
  /** A bridge of the broker's own configuration connects. */
  | { readonly kind: 'BRIDGE'; readonly name: string; readonly address: string }
  /** A truncated line about a client, which may be the end of a connection. */
  | { readonly kind: 'TRUNCATED' }
  /** Of no interest here. */
  | { readonly kind: 'OTHER' }
  /** No pattern knows the line. */
  | { readonly kind: 'UNREAD' };

interface SubscriptionLine {
  readonly clientid: string;
  /** `null` if the line is truncated, or may be about several known clients. */
  readonly filter: string | null;
  /** The other known clients that the line may be about. */
  readonly others?: readonly string[];
}

export interface TlsUse {
  readonly version: string;
  readonly ciphers: string;
}

export type LoggedProtocolVersion = 'v3.1' | 'v3.1.1' | 'v5';

export interface ConnectedLine {
  readonly kind: 'CONNECTED';
  readonly clientid: string;
  /** `null` if the client gave none. */
  readonly username: string | null;
  readonly address: string;
  readonly port: number;
  readonly bridge: boolean;
  readonly protocolVersion: LoggedProtocolVersion | null;
  readonly clean: boolean;
  /** Seconds. */
  readonly keepalive: number;
  /** Whether client id or user name look like a part of such a line, so that the boundary between them is a guess. */
  readonly isAmbiguous: boolean;
}

/**
 * What a line about an end proves about the client that it names. ADMITTED: the client was connected until now.
 * SESSION: the same if it is connected; otherwise the line is about its stored session. UNCERTAIN: the connection of
 * the client, or another one that was refused and used its client id. NOT_ADMITTED: no client was connected.
 */
export type EndedConnection = 'ADMITTED' | 'SESSION' | 'UNCERTAIN' | 'NOT_ADMITTED';

export interface DisconnectedLine {
  readonly kind: 'DISCONNECTED';
  readonly ends: EndedConnection;
  readonly clientid: string;
  /** Whether `clientid` may stand for a connection without a client: `<unknown>` in 2.0, its address in 2.1. */
  readonly isPlaceholder: boolean;
  /** `null` if the version does not log it. */
  readonly address: string | null;
  readonly port: number | null;
  /** In the words of 2.1, if it has them. */
  readonly reason: string;
}

/** Why the connection of the next line ends. */
export interface CauseLine {
  readonly kind: 'CAUSE';
  readonly isTls: boolean;
  readonly detail: string;
}

/** A connection was refused before its first packet. No other line names it. */
interface DeniedLine {
  readonly kind: 'DENIED';
  readonly address: string;
  readonly detail: string;
}

/** Another connection of the same client id replaced the connection. */
export const TAKEN_OVER = 'session taken over';
/** The client closed the socket without DISCONNECT. */
export const CLOSED_BY_CLIENT = 'connection closed by client';
/** Dynamic security ended the connection. */
export const BY_ADMINISTRATOR = 'administrative action';
export const NOT_AUTHORISED = 'not authorised';
export const TIMED_OUT = 'exceeded timeout';
/** The client sent DISCONNECT. */
export const DISCONNECTED = 'disconnected';
/** Mosquitto 2.0 writes it in place of the id of a connection without a client. */
export const UNKNOWN_CLIENT = '<unknown>';

import {
  ANONYMOUS,
  type ClientListener,
  type ClientProtocol,
  type ClientProtocolVersion,
  type ClientTls,
  type ConnectedClientDetail,
  type ConnectedClientSummary,
  type UncountedReason,
} from '../../../protocol/apis/clients/inspect-data.ts';
import type { ConnectedLine, TlsUse } from '../../../protocol/mosquitto-log/log-line.ts';
import type { KnownListener } from './client-listeners.ts';

/** `null` if the client uses none. */
export type UserName = string | null;

/** One client as the log reports it; `null` fields were not reported. Times in epoch milliseconds. */
export interface ClientEntry {
  readonly clientid: string;
  /** `undefined` if it was not reported. */
  account: UserName | undefined;
  /** Whether the user name is a guess, because client id or user name imitate a log line. */
  isAmbiguous: boolean;
  /** Number of this connection; earlier and later connections of the client have other numbers. */
  connection: number;
  address: string | null;
  port: number | null;
  protocol: ClientProtocol | null;
  /** The protocol if the broker is a Mosquitto 2.0.x whose listeners are unknown. */
  protocolOf20: ClientProtocol | null;
  protocolVersion: ClientProtocolVersion | null;
  bridge: boolean;
  readonly gateway: boolean;
  clean: boolean | null;
  keepalive: number | null;
  connected: boolean;
  /** Whether the connection may have ended. */
  isUncertain: boolean;
  lastConnect: number | null;
  lastDisconnect: number | null;
  disconnectReason: string | null;
  listenerPort: number | null;
  tls: TlsUse | null;
  /** Filter to granted QoS. */
  readonly subscriptions: Map<string, number>;
  /** Hashes of the filters of further subscriptions; `null`: none. */
  unlisted: Set<number> | null;
  /** Why the session may have subscriptions that are in neither; `null`: it has none. */
  uncounted: UncountedReason | null;
}

export function newEntry(clientid: string, gateway: boolean): ClientEntry {
  return {
    clientid,
    account: undefined,
    isAmbiguous: false,
    connection: 0,
    address: null,
    port: null,
    protocol: null,
    protocolOf20: null,
    protocolVersion: null,
    bridge: false,
    gateway,
    clean: null,
    keepalive: null,
    connected: true,
    isUncertain: false,
    lastConnect: null,
    lastDisconnect: null,
    disconnectReason: null,
    listenerPort: null,
    tls: null,
    subscriptions: new Map(),
    unlisted: null,
    uncounted: 'EARLIER',
  };
}

/** Writes the fields of a connect line. Returns whether a new session began, or may have begun. */
export function setConnection(entry: ClientEntry, line: ConnectedLine, listenerPort: number | null): boolean {
  const wasClean = entry.clean === true;
  // A clean session ends with its connection. An MQTT 5 session with Clean Start may persist.
  const isNewSession = line.clean || (wasClean && entry.protocolVersion !== 'v5');
  if (isNewSession) entry.uncounted = null;
  // The session may be older than the followed log.
  else if (entry.lastConnect === null || wasClean) entry.uncounted = 'EARLIER';
  const { clean, isAmbiguous, port, protocolVersion, bridge, keepalive } = line;
  Object.assign(entry, { clean, isAmbiguous, port, protocolVersion, bridge, keepalive, listenerPort, tls: null });
  entry.address = plainAddress(line.address);
  // 2.0.x logs the listener of TCP connections only, and WebSocket addresses as mapped IPv6.
  const isWebSocket = line.address.startsWith('::ffff:');
  entry.protocolOf20 = listenerPort !== null ? 'MQTT' : isWebSocket ? 'MQTT-WS' : null;
  return isNewSession || wasClean;
}

export const plainAddress = (address: string): string =>
  address.replace(/^::ffff:(?=\d)/, '').replace(/^\[(.*)\]$/, '$1');

export function summaryOf(entry: ClientEntry): ConnectedClientSummary {
  const { clientid, account, connected, lastDisconnect, address, port, protocol, protocolVersion, lastConnect } = entry;
  return {
    clientid,
    username: account ?? ANONYMOUS,
    ...(!entry.isUncertain && { connected }),
    lastDisconnect,
    ...(address !== null && { address }),
    ...(port !== null && { remotePort: port }),
    ...(protocol !== null && { protocol }),
    ...(protocolVersion !== null && { protocolVersion }),
    ...(lastConnect !== null && { lastConnect }),
    ...(entry.bridge && { bridge: true }),
    ...(entry.gateway && { gateway: true }),
    ...(entry.disconnectReason !== null && { disconnectReason: entry.disconnectReason }),
  };
}

/** What is known of the broker beyond the entry. */
interface EntryContext {
  readonly listener: KnownListener | undefined;
  /** Whether the broker logs the encryption of connections, as Mosquitto 2.1 does. `null` if its version is unknown. */
  readonly logsTls: boolean | null;
  readonly subscriptionsFollowed: boolean;
}

/** Lists the subscriptions that were stored. Their number is present only if all were counted. */
export function detailOf(entry: ClientEntry, context: EntryContext): ConnectedClientDetail {
  const { keepalive, clean, listenerPort, subscriptions, unlisted, uncounted } = entry;
  const { subscriptionsFollowed } = context;
  const tls = tlsOf(entry, context);
  return {
    ...summaryOf(entry),
    ...(keepalive === null ? {} : { keepalive }),
    ...(clean === null ? {} : { cleanSession: clean }),
    ...(listenerPort === null ? {} : { listener: listenerOf(listenerPort, context) }),
    ...(tls === undefined ? {} : { tls }),
    ...(subscriptionsFollowed
      ? { subscriptions: [...subscriptions.keys()], subscriptionQos: [...subscriptions.values()] }
      : {}),
    ...(subscriptionsFollowed &&
      (uncounted === null ? { numSubscriptions: subscriptions.size + (unlisted?.size ?? 0) } : { uncounted })),
  };
}

function listenerOf(port: number, { listener }: EntryContext): ClientListener {
  if (listener === undefined) return { port };
  const { protocol: _protocol, ...known } = listener;
  return known;
}

/** `undefined` if it is unknown. */
function tlsOf({ tls, clean }: ClientEntry, { listener, logsTls }: EntryContext): ClientTls | null | undefined {
  if (tls !== null) return tls;
  if (listener?.tls !== undefined) return listener.tls ? {} : null;
  // Every connect line has `clean`.
  return logsTls && clean !== null ? null : undefined;
}

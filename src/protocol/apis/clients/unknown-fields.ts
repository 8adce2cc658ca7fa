import {
  type ClientSource,
  type ConnectedClientDetail,
  INFLIGHT_KEYS,
  QUEUE_KEYS,
  type UncountedReason,
} from './inspect-data.ts';

/** Subscriptions of a client that the gateway lists. */
export const MAX_LISTED = 1_000;
/** Subscriptions of a client that the gateway counts beyond the listed ones. */
export const MAX_COUNTED = 100_000;

/** A field of a client that is null because the source does not report it, or a list that is not complete. */
export interface UnknownField {
  readonly field: string;
  readonly reason: string;
}

type DetailField = keyof ConnectedClientDetail;

const ALWAYS_PRESENT = [
  'address',
  'protocol',
  'protocolVersion',
  'connected',
  'lastConnect',
  'queues',
  'numSubscriptions',
  'numPublished',
  'numSubscribed',
  'numDropped',
  'bytesPublished',
  'bytesSubscribed',
  'keepalive',
  'cleanSession',
  'listener',
  'subscriptions',
  'inflight',
] as const satisfies readonly DetailField[];

/** Fields that a client may not have. They are unknown only if the source reports no licensed field. */
const OPTIONAL = ['tls', 'will'] as const satisfies readonly DetailField[];

/** Fields that every edition of the commercial broker reports. */
const FREE: ReadonlySet<string> = new Set(['address', 'protocol', 'protocolVersion']);

const NOT_REPORTED = 'The broker’s inspect API does not report it; most fields need a licence of the broker';
const NOT_COUNTED = 'The broker’s inspect API reports the other counters and not this one';
const NOT_STORED = 'The client is not connected, and the broker does not store this field of its last connection';

const NOT_LOGGED = 'Mosquitto does not publish it; a broker with its own inspect API does';
const CONNECTED_EARLIER =
  'The client connected before this service followed the log; the field is known after it reconnects';
const OWN_CONNECTED_EARLIER =
  'This service’s own connection, which must exist before the log can be followed; the field is known after it reconnects';
const MAYBE_DISCONNECTED =
  'The client may have disconnected: this version of Mosquitto logs a refused connection over WebSocket like the end of a connection with the same client id';
const LOG_SUBSCRIPTIONS = 'Set `log_type subscribe` and `log_type unsubscribe` in mosquitto.conf';

const UNCOUNTED: Readonly<Record<UncountedReason, string>> = {
  EARLIER: 'The session is older than the followed log, so it may have more subscriptions than those listed',
  TRUNCATED:
    'A line of the log about a subscription of the session is truncated, because the topic filter is long, or it may be about another client whose id begins with the same words',
  LIMIT: `The client has more subscriptions than those listed. This service counts at most ${MAX_COUNTED} more of each client, and fewer if its memory for subscriptions is used up`,
};

const LISTENERS_UNKNOWN =
  'The log of this version of Mosquitto does not distinguish WebSocket, and the broker reports no protocol for the port of the listener: set `enable_control_api true` in mosquitto.conf (Mosquitto 2.1), and allow the user of this service to use $CONTROL/broker/v1. The log does not contain the listener of a connection with the PROXY protocol';
const TLS_NOT_LOGGED =
  'Mosquitto 2.0 does not log whether a connection is encrypted; Mosquitto 2.1 and brokers that this service runs report it';

const NEVER_LOGGED = [
  'queues',
  'numPublished',
  'numSubscribed',
  'numDropped',
  'bytesPublished',
  'bytesSubscribed',
  'will',
  'inflight',
] as const satisfies readonly DetailField[];

/** The fields, or fields of nested objects, that the source does not know, in the order of the graph. */
export function unknownFields(known: ConnectedClientDetail, source: ClientSource): UnknownField[] {
  const unknown = source === 'LOG_FEED' ? unknownByLog(known) : unknownByBroker(known);
  return unknown.map(({ field, reason }) => ({ field: IN_GRAPH[field] ?? field, reason }));
}

/** Why a list of subscriptions is not complete. A list without its number may be longer, too. */
export function subscriptionsReason(known: ConnectedClientDetail, source: ClientSource): string | null {
  if (known.subscriptions === undefined) return null;
  const unknown = unknownFields(known, source);
  const reasonOf = (name: string) => unknown.find(({ field }) => field === name)?.reason;
  return reasonOf('subscriptions') ?? (known.uncounted === undefined ? null : (reasonOf('numSubscriptions') ?? null));
}

/** Names of fields in the graph that differ from those of the API. */
const IN_GRAPH: Readonly<Record<string, string>> = { connected: 'isConnected', lastConnect: 'lastConnectedAt' };

function unknownByBroker(known: ConnectedClientDetail): UnknownField[] {
  const absent = ALWAYS_PRESENT.filter((field) => known[field] === undefined);
  const hasLicensedField = ALWAYS_PRESENT.some((field) => !FREE.has(field) && known[field] !== undefined);
  const unsure = hasLicensedField ? [] : OPTIONAL.filter((field) => known[field] === undefined);
  const reason = known.connected === false && hasLicensedField ? NOT_STORED : NOT_REPORTED;
  const { queues, inflight } = known;
  const uncounted = [
    ...QUEUE_KEYS.filter((key) => queues && queues[key] === undefined).map((key) => `queues.${key}`),
    ...INFLIGHT_KEYS.filter((key) => inflight && inflight[key] === undefined).map((key) => `inflight.${key}`),
  ];
  return [
    ...[...absent, ...unsure].map((field) => ({ field, reason })),
    ...uncounted.map((field) => ({ field, reason: NOT_COUNTED })),
  ];
}

function unknownByLog(known: ConnectedClientDetail): UnknownField[] {
  const unknown: UnknownField[] = [];
  const absent = (field: DetailField, reason: string) => {
    if (known[field] === undefined) unknown.push({ field, reason });
  };
  // Every connect line has this field. Other fields of this service's first connection are known without its line.
  const wasLogged = known.cleanSession !== undefined;
  const earlier = known.gateway === true ? OWN_CONNECTED_EARLIER : CONNECTED_EARLIER;
  absent('address', earlier);
  absent('remotePort', earlier);
  absent('protocol', wasLogged ? LISTENERS_UNKNOWN : earlier);
  absent('protocolVersion', earlier);
  absent('connected', MAYBE_DISCONNECTED);
  absent('lastConnect', earlier);
  absent('keepalive', earlier);
  absent('cleanSession', earlier);
  absent(
    'listener',
    wasLogged
      ? 'The log contains the listener of a connection if `log_type notice` is set, except for WebSocket before Mosquitto 2.1 and for the PROXY protocol'
      : CONNECTED_EARLIER,
  );
  absent('tls', wasLogged ? TLS_NOT_LOGGED : earlier);
  if (known.tls != null) {
    for (const key of ['clientCertificate', 'version', 'ciphers'] as const) {
      if (known.tls[key] === undefined) unknown.push({ field: `tls.${key}`, reason: NOT_LOGGED });
    }
  }
  absent('subscriptions', LOG_SUBSCRIPTIONS);
  const { subscriptions: { length: listed } = [], numSubscriptions = 0, uncounted } = known;
  if (numSubscriptions > listed) {
    const reason = `This service lists at most ${MAX_LISTED} subscriptions of a client of this broker. It counted further ones: ${numSubscriptions - listed}`;
    unknown.push({ field: 'subscriptions', reason });
  }
  absent('numSubscriptions', uncounted === undefined ? LOG_SUBSCRIPTIONS : UNCOUNTED[uncounted]);
  for (const field of NEVER_LOGGED) absent(field, NOT_LOGGED);
  return unknown;
}

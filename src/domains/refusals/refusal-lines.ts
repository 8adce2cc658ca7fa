import type { RefusalReason } from './refusal.ts';
import { tlsReasonOf } from './tls-reasons.ts';

/**
 * A line of Mosquitto's log about refused connections and packets, in the wording of 2.0.x and 2.1. All other lines are
 * OTHER. A CAUSE explains the refusal in the next line. Client ids are not escaped, so a client can imitate lines: the
 * results may be displayed, but permissions must never depend on them.
 */
export type RefusalLine =
  | { readonly kind: 'OTHER' }
  | { readonly kind: 'OPENED'; readonly address: string; readonly port: number; readonly listenerPort: number }
  | {
      readonly kind: 'CONNECTED';
      readonly address: string;
      readonly port: number;
      readonly clientId: string;
      readonly username: string | null;
    }
  /** A connection without an admitted client was closed, but not refused. */
  | { readonly kind: 'CLOSED' }
  | { readonly kind: 'CAUSE'; readonly reason: RefusalReason; readonly detail: string }
  | RefusedLine;

export interface RefusedLine {
  readonly kind: 'REFUSED';
  readonly reason: RefusalReason;
  /** `null` if the broker does not name the client, because it was not admitted. */
  readonly clientId: string | null;
  readonly address: string | null;
  readonly port: number | null;
  readonly detail: string | null;
}

/** Mosquitto writes no longer lines. */
const MAX_LINE = 2_000;
const OTHER: RefusalLine = { kind: 'OTHER' };
const UNKNOWN_CLIENT = '<unknown>';

const TIMESTAMP = /^(?:\d{1,12}|\d[\dT:.+-]+Z?): /;
const OPENED = /^New connection from (\S+):(\d+) on port (\d+)\.$/;
const CONNECTED = /^New (?:client|bridge) connected from (\S+):(\d+) as (.*) \(p\d, c[01], k\d+(?:, u'(.*)')?\)\.$/s;

/** Lines that name neither the client nor its port. `(.*)` is the address, or further details. */
const CAUSES: readonly (readonly [RegExp, RefusalReason | null])[] = [
  [/^OpenSSL Error\[\d+\]: (?:error:[0-9A-F]+:)?(.*)$/s, null],
  [/^Invalid protocol (?:version \d+|".*") in CONNECT from .*\.$/s, 'PROTOCOL_VERSION'],
  [/^Invalid Will QoS in CONNECT from .*\.$/s, 'WILL_REJECTED'],
  [/^(?:Invalid|Empty) (?:un)?subscription string from .*$/s, 'INVALID_TOPIC'],
  [/^Invalid QoS in .* from .*, disconnecting\.$/s, 'MALFORMED_PACKET'],
  [/^Too high QoS in PUBLISH from .*, disconnecting\.$/s, 'NOT_SUPPORTED'],
  [/^Bad client .* sending multiple CONNECT messages\.$/s, 'PROTOCOL_ERROR'],
];

const REFUSED_ADDRESS: readonly (readonly [RegExp, RefusalReason | null])[] = [
  [/^Client connection from (\S+) denied: max_connections exceeded\.$/, 'TOO_MANY_CONNECTIONS'],
  [/^Client connection from (\S+) denied access by tcpd\.$/, 'NOT_AUTHORIZED'],
  [/^Client connection from (\S+) failed: (?:error:[0-9A-F]+:)?(.*)$/s, null],
  [/^Client from (\S+):(\d+) appears to be using TLS to connect to a non-TLS listener\.$/, 'TLS_ON_PLAIN_LISTENER'],
  [/^Protocol error from (\S+):(\d+): (.*)$/s, 'PROTOCOL_ERROR'],
];

/** What follows the client id. 2.1 writes the address before the reason. */
const ENDED_2_0 = /^Client (.*?) disconnected(?:, | due to |: )(.*)\.$/s;
const ENDED_2_1 = /^Client (.*) \[(\S+):(\d+)\] disconnected: (.*)\.$/s;
const BROKEN = /^Bad socket read\/write on client (.*): ([^:]*)\.$/s;
const TIMED_OUT = /^Client (.*) (?:has exceeded timeout, disconnecting|closed its connection)\.$/s;

const REASONS: Readonly<Record<string, RefusalReason>> = Object.assign(Object.create(null), {
  'not authorised': 'NOT_AUTHORIZED',
  'protocol error': 'PROTOCOL_ERROR',
  'malformed packet': 'MALFORMED_PACKET',
  'oversize packet': 'PACKET_TOO_LARGE',
  'packet too large': 'PACKET_TOO_LARGE',
  'oversize payload': 'PACKET_TOO_LARGE',
  'qos too high or retain not supported': 'NOT_SUPPORTED',
  'requested qos not supported on server': 'NOT_SUPPORTED',
  'invalid function arguments provided': 'PROTOCOL_ERROR',
});

export function parseRefusalLine(line: string): RefusalLine {
  if (line.length > MAX_LINE) return OTHER;
  const text = line.replace(TIMESTAMP, '');
  if (text.startsWith('New ')) return parseNew(text);
  for (const [pattern, reason] of CAUSES) {
    const cause = pattern.exec(text);
    if (cause) return { kind: 'CAUSE', reason: reason ?? tlsReasonOf(text), detail: cause[1] ?? text };
  }
  for (const [pattern, reason] of REFUSED_ADDRESS) {
    const refused = pattern.exec(text);
    if (!refused) continue;
    const [, address = '', ...more] = refused;
    const port = more.length > 0 && /^\d+$/.test(more[0] ?? '') ? Number(more[0]) : null;
    const detail = port === null ? more[0] : more[1];
    return refusedLine({ reason: reason ?? tlsReasonOf(text), address, port, detail: detail ?? null });
  }
  return parseEnd(text);
}

function parseNew(text: string): RefusalLine {
  const opened = OPENED.exec(text);
  if (opened) {
    const [, address = '', port, listenerPort] = opened;
    return { kind: 'OPENED', address, port: Number(port), listenerPort: Number(listenerPort) };
  }
  const connected = CONNECTED.exec(text);
  if (!connected) return OTHER;
  const [, address = '', port, clientId = '', username = null] = connected;
  return { kind: 'CONNECTED', address, port: Number(port), clientId, username };
}

function parseEnd(text: string): RefusalLine {
  const named = ENDED_2_1.exec(text);
  if (named) {
    const [, clientId = '', address = '', port, words = ''] = named;
    const reason = reasonOf(words, clientId);
    return reason === null ? OTHER : refusedLine({ reason, clientId, address, port: Number(port) });
  }
  const ended = ENDED_2_0.exec(text) ?? BROKEN.exec(text);
  if (ended) {
    const [, clientId = '', words = ''] = ended;
    const reason = reasonOf(words, clientId);
    if (reason !== null) return refusedLine({ reason, clientId });
    return clientId === UNKNOWN_CLIENT ? { kind: 'CLOSED' } : OTHER;
  }
  const [, clientId] = TIMED_OUT.exec(text) ?? [];
  if (clientId !== UNKNOWN_CLIENT) return OTHER;
  return text.includes('exceeded timeout') ? refusedLine({ reason: 'NO_CONNECT' }) : { kind: 'CLOSED' };
}

function reasonOf(words: string, clientId: string): RefusalReason | null {
  // A failed handshake. A refused packet is "due to protocol error".
  if (words === 'Protocol error' && clientId === UNKNOWN_CLIENT) return 'TLS_FAILED';
  return REASONS[words.toLowerCase()] ?? null;
}

function refusedLine(line: Partial<RefusedLine> & Pick<RefusedLine, 'reason'>): RefusedLine {
  const { clientId = null } = line;
  const nothing = { kind: 'REFUSED', address: null, port: null, detail: null } as const;
  return { ...nothing, ...line, clientId: clientId === UNKNOWN_CLIENT ? null : clientId };
}

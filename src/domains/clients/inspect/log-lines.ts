import type { ClientProtocolVersion } from './inspect-data.ts';

/**
 * A line of Mosquitto's log about a client, in the wording of 2.0.x and 2.1. All other lines are `null`. So are lines
 * longer than MAX_LINE, which Mosquitto does not write: a crafted line needs time that grows with the square of its
 * length.
 *
 * Mosquitto truncates lines after MAX_LINE_BYTES (logging.c). A client can choose where its line is truncated, so a
 * truncated line reports only that a client connected, or that subscriptions changed.
 *
 * Lines contain client ids and user names unescaped, so a client can imitate other lines. The results may be displayed,
 * but permissions must never depend on them.
 */
export type LogLine = { readonly at: number | null } & (
  | { readonly kind: 'OPENED'; readonly address: string; readonly port: number; readonly listenerPort: number }
  | ConnectedLine
  | { readonly kind: 'CONNECTED_UNREAD' }
  | { readonly kind: 'TLS'; readonly clientid: string; readonly tls: TlsUse }
  | DisconnectedLine
  | { readonly kind: 'EXPIRED'; readonly clientid: string }
  | { readonly kind: 'SUBSCRIBED'; readonly clientid: string; readonly filter: string | null; readonly qos: number }
  | { readonly kind: 'UNSUBSCRIBED'; readonly clientid: string; readonly filter: string | null }
);

export interface TlsUse {
  readonly version: string;
  readonly ciphers: string;
}

export interface ConnectedLine {
  readonly kind: 'CONNECTED';
  readonly clientid: string;
  /** `null` if the client gave none. */
  readonly username: string | null;
  readonly address: string;
  readonly port: number;
  readonly bridge: boolean;
  readonly protocolVersion: ClientProtocolVersion | null;
  readonly clean: boolean;
  /** Seconds. */
  readonly keepalive: number;
  /** Whether client id or user name look like a part of such a line, so that the boundary between them is a guess. */
  readonly isAmbiguous: boolean;
}

export interface DisconnectedLine {
  readonly kind: 'DISCONNECTED';
  readonly clientid: string;
  readonly port: number | null;
  readonly reason: string;
}

/** Protocol numbers in log lines: 2.0.x writes 1 and 2 for MQTT 3.1 and 3.1.1, 2.1 writes 3 and 4. */
const VERSIONS: Readonly<Record<string, ClientProtocolVersion>> = {
  '1': 'v3.1',
  '2': 'v3.1.1',
  '3': 'v3.1',
  '4': 'v3.1.1',
  '5': 'v5',
};

/** Another connection of the same client id replaced the connection. The wording of 2.1. */
export const TAKEN_OVER = 'session taken over';
/** The client closed the socket without DISCONNECT. */
export const CLOSED_BY_CLIENT = 'connection closed by client';
/** Dynamic security ended the connection. The wording of both versions. */
export const BY_ADMINISTRATOR = 'administrative action';

/** Disconnect reasons of connections whose connect was logged. Others may be of a refused connection. */
export const REASONS_AFTER_CONNECT: ReadonlySet<string> = new Set([
  'disconnected',
  CLOSED_BY_CLIENT,
  TAKEN_OVER,
  'exceeded timeout',
  BY_ADMINISTRATOR,
]);

const MAX_LINE = 2_000;
/** With the timestamp. */
const MAX_LINE_BYTES = 999;

const TIMESTAMP = /^(?:(\d{1,12})|\d[\dT:.+-]+Z?): /;
const OPENED = /^New connection from (\S+):(\d+) on port (\d+)\.$/;
// The client id is greedy, so that the last " (p" of a line counts.
const CONNECTED =
  /^New (client|bridge) connected from (\S+):(\d+) as (.*) \(p(\d), c([01]), k(\d+)(?:, u'(.*)')?\)\.$/s;
const NEW_CLIENT = /^New (?:client|bridge) connected from /;
const LOOKS_CONNECTED = / \(p\d, c[01], k\d+/g;
const NEGOTIATED = /^Client (.*) negotiated (\S+) cipher (\S+)$/s;
const ENDED_2_1 = /^Client (.*) \[(\S+):(\d+)\] disconnected(?:: (.*))?\.$/s;
const ENDED_2_0: readonly (readonly [RegExp, string])[] = [
  [/^Client (.*) been disconnected by administrative action\.$/s, BY_ADMINISTRATOR],
  [/^Client (.*) has exceeded timeout, disconnecting\.$/s, 'exceeded timeout'],
  [/^Client (.*) closed its connection\.$/s, CLOSED_BY_CLIENT],
  [/^Client (.*) already connected, closing old connection\.$/s, TAKEN_OVER],
  [/^Client (.*) disconnected, not authorised\.$/s, 'not authorised'],
  [/^Client (.*) disconnected due to (.*)\.$/s, ''],
  [/^Client (.*) disconnected: (.*)\.$/s, ''],
  [/^Client (.*) disconnected\.$/s, 'disconnected'],
];
const BROKEN = /^Bad socket read\/write on client (.*): ([^:]*)$/s;
const EXPIRED = /^Expiring client (.*) due to timeout\.$/s;

/**
 * @param level the topic after `$SYS/broker/log/`
 * @param isKnown whether a client has this id; needed because client ids and filters may both contain spaces
 */
export function parseLogLine(level: string, line: string, isKnown: (clientid: string) => boolean): LogLine | null {
  if (line.length > MAX_LINE) return null;
  const stamp = TIMESTAMP.exec(line);
  const at = stamp?.[1] === undefined ? null : Number(stamp[1]) * 1_000;
  const text = stamp ? line.slice(stamp[0].length) : line;
  const isTruncated = Buffer.byteLength(line) >= MAX_LINE_BYTES;
  if (level === 'M/subscribe') return withoutTruncated(parseSubscribe(text, at, isKnown), isTruncated);
  if (level === 'M/unsubscribe') return withoutTruncated(parseUnsubscribe(text, at, isKnown), isTruncated);
  if (NEW_CLIENT.test(text) && isTruncated) return { kind: 'CONNECTED_UNREAD', at };
  if (text.startsWith('New ')) return parseNew(text, at);
  if (text.startsWith('Client ')) return parseClient(text, at, isKnown);
  const expired = EXPIRED.exec(text);
  if (expired) return { kind: 'EXPIRED', at, clientid: expired[1] ?? '' };
  const broken = BROKEN.exec(text);
  if (!broken) return null;
  const [, clientid = '', reason = ''] = broken;
  return { kind: 'DISCONNECTED', at, clientid, port: null, reason };
}

type Subscription = Extract<LogLine, { kind: 'SUBSCRIBED' | 'UNSUBSCRIBED' }>;

const withoutTruncated = (line: Subscription | null, isTruncated: boolean): LogLine | null =>
  line !== null && isTruncated ? { ...line, filter: null } : line;

function parseNew(text: string, at: number | null): LogLine | null {
  const opened = OPENED.exec(text);
  if (opened) {
    const [, address = '', port, listenerPort] = opened;
    return { kind: 'OPENED', at, address, port: Number(port), listenerPort: Number(listenerPort) };
  }
  const connected = CONNECTED.exec(text);
  if (!connected) return null;
  const [, kind, address = '', port, clientid = '', version = '', clean, keepalive, username] = connected;
  return {
    kind: 'CONNECTED',
    at,
    clientid,
    username: username ?? null,
    address,
    port: Number(port),
    bridge: kind === 'bridge',
    protocolVersion: VERSIONS[version] ?? null,
    clean: clean === '1',
    keepalive: Number(keepalive),
    isAmbiguous: (text.match(LOOKS_CONNECTED)?.length ?? 0) > 1,
  };
}

function parseClient(text: string, at: number | null, isKnown: (id: string) => boolean): LogLine | null {
  const negotiated = NEGOTIATED.exec(text);
  if (negotiated) {
    const [, clientid = '', version = '', ciphers = ''] = negotiated;
    return { kind: 'TLS', at, clientid, tls: { version, ciphers } };
  }
  const readings = disconnectsOf20(text, at);
  const known = readings.find(({ clientid }) => isKnown(clientid));
  if (known) return known;
  const ended = ENDED_2_1.exec(text);
  if (!ended) return readings[0] ?? null;
  const [, clientid = '', , port, reason = 'disconnected'] = ended;
  return { kind: 'DISCONNECTED', at, clientid, port: Number(port), reason };
}

/** All readings of the line as one of 2.0: a client id may look like the end of a line, or like an address of 2.1. */
function disconnectsOf20(text: string, at: number | null): (DisconnectedLine & { readonly at: number | null })[] {
  return ENDED_2_0.flatMap(([pattern, reason]) => {
    const match = pattern.exec(text);
    if (!match) return [];
    const [, clientid = '', logged = ''] = match;
    return [{ kind: 'DISCONNECTED' as const, at, clientid, port: null, reason: reason || logged }];
  });
}

function parseSubscribe(text: string, at: number | null, isKnown: (id: string) => boolean): Subscription | null {
  for (const { index } of text.matchAll(/ [012](?= )/g)) {
    const clientid = text.slice(0, index);
    if (isKnown(clientid)) return subscribed(text, index, at);
  }
  const index = / [012] \S/.exec(text)?.index;
  return index === undefined ? null : subscribed(text, index, at);
}

function subscribed(text: string, index: number, at: number | null): Subscription {
  return {
    kind: 'SUBSCRIBED',
    at,
    clientid: text.slice(0, index),
    qos: Number(text[index + 1]),
    filter: text.slice(index + 3),
  };
}

function parseUnsubscribe(text: string, at: number | null, isKnown: (id: string) => boolean): Subscription | null {
  let last = -1;
  for (let index = text.indexOf(' '); index >= 0; index = text.indexOf(' ', index + 1)) {
    last = index;
    if (isKnown(text.slice(0, index))) break;
  }
  if (last < 0) return null;
  return { kind: 'UNSUBSCRIBED', at, clientid: text.slice(0, last), filter: text.slice(last + 1) };
}

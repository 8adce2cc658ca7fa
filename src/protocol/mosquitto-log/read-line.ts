import { END_PATTERNS, endOf, isPlaceholder } from './client-patterns.ts';
import type { LogDialect } from './log-dialect.ts';
import type { DisconnectedLine, LineMeaning, LoggedProtocolVersion, LogLine } from './log-line.ts';
import { CAUSE_PATTERNS, DENIED_PATTERNS, OTHER_PATTERNS } from './other-patterns.ts';
import { readSubscribe, readUnsubscribe } from './subscription-lines.ts';

export type IsKnown = (clientid: string) => boolean;

/** Mosquitto writes no longer lines. A crafted one needs time that grows with the square of its length. */
const MAX_LINE = 2_000;
/** With the timestamp. Mosquitto truncates lines after it (logging.c). */
const MAX_LINE_BYTES = 999;
/** Any line about a client with a shorter id is whole, except with a long filter or user name. */
const MAX_ID_BYTES = 800;

/** Seconds, or `log_timestamp_format` with the usual formats of dates and times, `%c` included. */
const TIMESTAMP =
  /^(?:(\d{10})|\d[\d/.:+-]*(?:[T ]\d[\d:.,]*)?(?:Z| ?[+-]\d[\d:]*)?|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}): /;
const OPENED = /^New connection from (\S+):(\d+) on port (\d+)\.$/;
// The client id is greedy, so that the last " (p" of a line counts.
const CONNECTED =
  /^New (client|bridge) connected from (\S+):(\d+) as (.*) \(p(\d), c([01]), k(\d+)(?:, u'(.*)')?\)\.$/s;
const NEW_CLIENT = /^New (?:client|bridge) connected from (\S+):(\d+) as /;
const LOOKS_CONNECTED = / \(p\d, c[01], k\d+/g;
const NEGOTIATED = /^Client (.*) negotiated (\S+) cipher ([\w-]+)$/s;
const EXPIRED = /^Expiring client (.*) due to timeout\.$/s;
const STARTED = /^mosquitto version \S+ (?:starting|running)$/;
const RELOADED = 'Reloading config.';
const BRIDGE = /^Connecting bridge (?:\(step \d\) )?(\S{1,200}) \((.{1,300}:\d{1,5})\)$/;

/** Protocol numbers in log lines: 2.0.x writes 1 and 2 for MQTT 3.1 and 3.1.1, 2.1 writes 3 and 4. */
const VERSIONS: Readonly<Record<string, LoggedProtocolVersion>> = {
  '1': 'v3.1',
  '2': 'v3.1.1',
  '3': 'v3.1',
  '4': 'v3.1.1',
  '5': 'v5',
};

/**
 * A client can choose where its line is truncated, so a truncated line reports only that a client connected, or that
 * subscriptions changed.
 *
 * @param level the topic after `$SYS/broker/log/`
 * @param dialect `null`: the line may have the wording of any version
 * @param isKnown whether a client has this id; needed because client ids may contain parts of lines
 */
export function readLine(level: string, line: string, dialect: LogDialect | null, isKnown: IsKnown): LogLine {
  if (line.length > MAX_LINE) return { at: null, kind: 'UNREAD' };
  const stamp = TIMESTAMP.exec(line);
  const at = stamp?.[1] === undefined ? null : Number(stamp[1]) * 1_000;
  const text = stamp ? line.slice(stamp[0].length) : line;
  const isTruncated = Buffer.byteLength(line) >= MAX_LINE_BYTES;
  if (level.startsWith('M/')) return { at, ...readSubscription(level, text, isTruncated, isKnown) };
  return { at, ...(isTruncated ? readTruncated(text) : readWhole(text, dialect, isKnown)) };
}

function readSubscription(level: string, text: string, isTruncated: boolean, isKnown: IsKnown): LineMeaning {
  const read = level === 'M/subscribe' ? readSubscribe : level === 'M/unsubscribe' ? readUnsubscribe : null;
  const line = read?.(text, isKnown) ?? null;
  if (line === null) return isTruncated ? { kind: 'OTHER' } : UNREAD;
  return isTruncated ? { ...line, filter: null } : line;
}

function readTruncated(text: string): LineMeaning {
  const [, address, port] = NEW_CLIENT.exec(text) ?? [];
  if (address !== undefined) return { kind: 'CONNECTED_UNREAD', address, port: Number(port) };
  return { kind: /^(?:Client|New|Bad socket) /.test(text) ? 'TRUNCATED' : 'OTHER' };
}

function readWhole(text: string, dialect: LogDialect | null, isKnown: IsKnown): LineMeaning {
  return (
    (text.startsWith('New ') ? readNew(text) : readClient(text, dialect, isKnown)) ??
    readRefusal(text) ??
    readBroker(text) ??
    UNREAD
  );
}

function readNew(text: string): LineMeaning | null {
  const opened = OPENED.exec(text);
  if (opened) {
    const [, address = '', port, listenerPort] = opened;
    return { kind: 'OPENED', address, port: Number(port), listenerPort: Number(listenerPort) };
  }
  const connected = CONNECTED.exec(text);
  if (!connected) return null;
  const [, kind, address = '', port, clientid = '', version = '', clean, keepalive, username] = connected;
  // Other lines about the client, which may be longer than this one, will be truncated.
  if (Buffer.byteLength(clientid) > MAX_ID_BYTES) return { kind: 'CONNECTED_UNREAD', address, port: Number(port) };
  return {
    kind: 'CONNECTED',
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

function readClient(text: string, dialect: LogDialect | null, isKnown: IsKnown): LineMeaning | null {
  if (!text.startsWith('Client ') && !text.startsWith('Bad socket ')) return null;
  const [, clientid = '', version = '', ciphers = ''] = NEGOTIATED.exec(text) ?? [];
  if (version !== '') return { kind: 'TLS', clientid, tls: { version, ciphers } };
  return chooseEnd(readEnds(text, dialect), dialect, isKnown);
}

/**
 * The words that Mosquitto writes behind a client id look like no other end, so in the wording of a version the longest
 * client id is right. In other words they may, so several client ids make the line uncertain.
 */
function chooseEnd(
  readings: DisconnectedLine[],
  dialect: LogDialect | null,
  isKnown: IsKnown,
): DisconnectedLine | null {
  const [first] = readings;
  if (first === undefined) return null;
  if (dialect !== null) return readings.reduce((a, b) => (b.clientid.length > a.clientid.length ? b : a));
  const known = readings.find((reading) => isKnown(reading.clientid)) ?? first;
  const isCertain = known.port !== null || readings.every(({ clientid }) => clientid === known.clientid);
  return isCertain ? known : { ...known, ends: 'UNCERTAIN' };
}

/** All readings of the line: a client id may look like the end of a line, or like an address. */
function readEnds(text: string, dialect: LogDialect | null): DisconnectedLine[] {
  return END_PATTERNS.flatMap(({ dialects, pattern, reason: known }) => {
    if (dialect !== null && !dialects.includes(dialect)) return [];
    const groups = pattern.exec(text)?.groups;
    if (groups === undefined) return [];
    const { clientid = '', address = null, port = null } = groups;
    const reason = (known ?? groups.reason ?? 'disconnected').replace(/^bad socket read\/write: /, '');
    const ended = { clientid, address, reason };
    const about = { ends: endOf(dialect, ended), isPlaceholder: isPlaceholder(dialect, ended) };
    return [{ kind: 'DISCONNECTED' as const, ...about, ...ended, port: port === null ? null : Number(port) }];
  });
}

function readRefusal(text: string): LineMeaning | null {
  for (const { pattern } of CAUSE_PATTERNS) {
    const detail = pattern.exec(text)?.groups?.detail;
    if (detail !== undefined) return { kind: 'CAUSE', isTls: text.startsWith('OpenSSL'), detail };
  }
  for (const { pattern } of DENIED_PATTERNS) {
    const { address, detail } = pattern.exec(text)?.groups ?? {};
    if (address !== undefined && detail !== undefined) return { kind: 'DENIED', address, detail };
  }
  return null;
}

function readBroker(text: string): LineMeaning | null {
  const [, clientid] = EXPIRED.exec(text) ?? [];
  if (clientid !== undefined) return { kind: 'EXPIRED', clientid };
  if (STARTED.test(text)) return { kind: 'STARTED' };
  if (text === RELOADED) return { kind: 'RELOADED' };
  const [, name, address] = BRIDGE.exec(text) ?? [];
  if (name !== undefined && address !== undefined) return { kind: 'BRIDGE', name, address };
  return OTHER_PATTERNS.some(({ pattern }) => pattern.test(text)) ? { kind: 'OTHER' } : null;
}

const UNREAD: LineMeaning = { kind: 'UNREAD' };

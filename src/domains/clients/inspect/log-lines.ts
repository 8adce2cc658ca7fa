import type { ClientProtocolVersion } from './inspect-data.ts';

/**
 * What Mosquitto's log tells of clients, line by line, in the wording of 2.0.x and of 2.1. Lines that tell nothing of clients
 * are null. So are lines longer than MAX_LINE, which no Mosquitto writes: the patterns take time that grows with the square of
 * a line that is made for it.
 *
 * Lines end after LONGEST bytes (logging.c). What a line of that length says at its end may be the beginning of something else,
 * and somebody may have chosen where it is cut: such a line says only that somebody has come, or that the subscriptions of
 * a client are others than before.
 *
 * Client ids and user names are free text and stand in the lines as they are, so a line can be made to look like another.
 * What comes out is good for display and never a base for permissions.
 */
export type LogLine = { readonly at: number | null } & (
  | { readonly kind: 'OPENED'; readonly address: string; readonly port: number; readonly listenerPort: number }
  | ConnectedLine
  | { readonly kind: 'CONNECTED_UNREAD' }
  | { readonly kind: 'TLS'; readonly clientid: string; readonly version: string; readonly cipher: string }
  | DisconnectedLine
  | { readonly kind: 'EXPIRED'; readonly clientid: string }
  | { readonly kind: 'SUBSCRIBED'; readonly clientid: string; readonly filter: string | null; readonly qos: number }
  | { readonly kind: 'UNSUBSCRIBED'; readonly clientid: string; readonly filter: string | null }
);

export interface ConnectedLine {
  readonly kind: 'CONNECTED';
  readonly clientid: string;
  /** Null: none was used. */
  readonly username: string | null;
  readonly address: string;
  readonly port: number;
  readonly bridge: boolean;
  readonly protocolVersion: ClientProtocolVersion | null;
  readonly clean: boolean;
  /** Seconds. */
  readonly keepalive: number;
  /** The id or the user name looks like a part of such a line: where one ends and the other begins is a guess. */
  readonly isAmbiguous: boolean;
}

export interface DisconnectedLine {
  readonly kind: 'DISCONNECTED';
  readonly clientid: string;
  /** Of the connection that ended; only 2.1 names it. */
  readonly port: number | null;
  readonly reason: string;
}

/** Numbers of the protocol in log lines: 2.0.x counts 3.1 and 3.1.1 as 1 and 2, 2.1 as 3 and 4. */
const VERSIONS: Readonly<Record<string, ClientProtocolVersion>> = {
  '1': 'v3.1',
  '2': 'v3.1.1',
  '3': 'v3.1',
  '4': 'v3.1.1',
  '5': 'v5',
};

/** What 2.1 and we call the end of a connection that another one of the same client id replaced. */
export const TAKEN_OVER = 'session taken over';
/** What both versions are understood to say of a socket that the client closed without a word. */
export const CLOSED_BY_CLIENT = 'connection closed by client';

/** What both versions say of a connection that dynamic security has ended. */
export const BY_ADMINISTRATOR = 'administrative action';

/** Characters. */
const MAX_LINE = 2_000;
/** Bytes, with the time. */
const LONGEST = 999;

const TIMESTAMP = /^(?:(\d{1,12})|\d[\dT:.+-]+Z?): /;
const OPENED = /^New connection from (\S+):(\d+) on port (\d+)\.$/;
// The id is greedy, so that the last " (p" of a line counts.
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
 * @param level what follows `$SYS/broker/log/` in the topic
 * @param isKnown whether a client of this id is known: ids and filters may both hold blanks, so this tells where one ends
 */
export function parseLogLine(level: string, line: string, isKnown: (clientid: string) => boolean): LogLine | null {
  if (line.length > MAX_LINE) return null;
  const stamp = TIMESTAMP.exec(line);
  const at = stamp?.[1] === undefined ? null : Number(stamp[1]) * 1_000;
  const text = stamp ? line.slice(stamp[0].length) : line;
  const isCut = Buffer.byteLength(line) >= LONGEST;
  if (level === 'M/subscribe') return withoutCut(parseSubscribe(text, at, isKnown), isCut);
  if (level === 'M/unsubscribe') return withoutCut(parseUnsubscribe(text, at, isKnown), isCut);
  if (NEW_CLIENT.test(text) && isCut) return { kind: 'CONNECTED_UNREAD', at };
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

const withoutCut = (line: Subscription | null, isCut: boolean): LogLine | null =>
  line !== null && isCut ? { ...line, filter: null } : line;

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
    const [, clientid = '', version = '', cipher = ''] = negotiated;
    return { kind: 'TLS', at, clientid, version, cipher };
  }
  const older = endsOf20(text, at);
  const known = older.find(({ clientid }) => isKnown(clientid));
  if (known) return known;
  const ended = ENDED_2_1.exec(text);
  if (!ended) return older[0] ?? null;
  const [, clientid = '', , port, reason = 'disconnected'] = ended;
  return { kind: 'DISCONNECTED', at, clientid, port: Number(port), reason };
}

/** Every way to read the line as one of 2.0: an id may look like the end of a line, or like an address that 2.1 adds. */
function endsOf20(text: string, at: number | null): (DisconnectedLine & { readonly at: number | null })[] {
  return ENDED_2_0.flatMap(([pattern, reason]) => {
    const match = pattern.exec(text);
    if (!match) return [];
    const [, clientid = '', told = ''] = match;
    return [{ kind: 'DISCONNECTED' as const, at, clientid, port: null, reason: reason || told }];
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

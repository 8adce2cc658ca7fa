import { isIP } from 'node:net';
import type { LogDialect } from './log-dialect.ts';
import {
  BY_ADMINISTRATOR,
  CLOSED_BY_CLIENT,
  DISCONNECTED,
  type EndedConnection,
  NOT_AUTHORISED,
  TAKEN_OVER,
  TIMED_OUT,
  UNKNOWN_CLIENT,
} from './log-line.ts';

/** A line about the end of a connection, with the groups `clientid` and, if logged, `address`, `port` and `reason`. */
interface EndPattern {
  readonly dialects: readonly LogDialect[];
  readonly pattern: RegExp;
  readonly example: string;
  /** Default: the group `reason`. */
  readonly reason?: string;
}

const WITHOUT_PORT: readonly LogDialect[] = ['2.0.0', '2.0.13', '2.1.0'];
const V2_0: readonly LogDialect[] = ['2.0.0', '2.0.13'];

/** All readings of a line are tried, because a client id may look like the end of a line. */
export const END_PATTERNS: readonly EndPattern[] = [
  {
    dialects: ['2.1.1'],
    pattern: /^Client (?<clientid>.*) \[(?<address>\S+):(?<port>\d+)\] disconnected(?:: (?<reason>.*?))?\.?$/s,
    example: 'Client cut-4-tcp [127.0.0.1:50380] disconnected: connection closed by client.',
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) been disconnected by administrative action\.$/s,
    example: 'Client kicked been disconnected by administrative action.',
    reason: BY_ADMINISTRATOR,
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) has exceeded timeout, disconnecting\.$/s,
    example: 'Client timeout-4-tcp has exceeded timeout, disconnecting.',
    reason: TIMED_OUT,
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) closed its connection\.$/s,
    example: 'Client cut-4-tcp closed its connection.',
    reason: CLOSED_BY_CLIENT,
  },
  {
    dialects: V2_0,
    pattern: /^Client (?<clientid>.*) already connected, closing old connection\.$/s,
    example: 'Client same-4-tcp-tcp already connected, closing old connection.',
    reason: TAKEN_OVER,
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) disconnected, (?<reason>.*)\.$/s,
    example: 'Client victim-4-tcp-tcp disconnected, not authorised.',
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) disconnected due to (?<reason>.*)\.$/s,
    example: 'Client <unknown> disconnected due to protocol error.',
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) disconnected: (?<reason>.*)\.$/s,
    example: 'Client <unknown> disconnected: Protocol error.',
  },
  {
    dialects: WITHOUT_PORT,
    pattern: /^Client (?<clientid>.*) disconnected\.$/s,
    example: 'Client dev-3-tcp-c disconnected.',
    reason: DISCONNECTED,
  },
  {
    dialects: WITHOUT_PORT,
    // The id may contain a colon, the reason does not.
    pattern: /^Bad socket read\/write on client (?<clientid>.*): (?<reason>[^:]*?)\.?$/s,
    example: 'Bad socket read/write on client <unknown>: Duplicate property in property list',
  },
];

/** Ends of clients in all versions. A version that is not known may have other reasons for refused connections. */
const OF_CLIENTS = new Set([BY_ADMINISTRATOR, TIMED_OUT, 'protocol error', 'malformed packet', 'oversize packet']);

/** In lower case. Ends of a CONNECT that a plugin refuses, which may be of a later packet. */
const OF_CONNECT = new Set([
  'bad username or password',
  'client banned',
  'client identifier not valid',
  'connection rate exceeded',
  'server busy',
  'server unavailable',
  'unknown error',
]);

/** The groups of a match. */
interface Ended {
  readonly clientid: string;
  readonly address: string | null;
  readonly reason: string;
}

/** Without a dialect, only what is certain in all of them is certain. */
export function endOf(dialect: LogDialect | null, ended: Ended): EndedConnection {
  const { address, reason } = ended;
  const is20 = dialect === '2.0.0' || dialect === '2.0.13';
  // A stored session after a restart, or a bridge of the broker's own configuration, has no address.
  if (reason === NOT_AUTHORISED || address === '(null)') return 'NOT_ADMITTED';
  if (isPlaceholder(dialect, ended)) return 'UNCERTAIN';
  // Without an address, it may be a stored session that is dropped.
  if (reason === DISCONNECTED) return address === null ? 'SESSION' : 'ADMITTED';
  // 2.1 logs it also for a stored session that is resumed.
  if (reason === TAKEN_OVER) return is20 ? 'ADMITTED' : 'SESSION';
  // Since 2.0.13, the line of a refused connection over WebSocket is the same.
  if (reason === CLOSED_BY_CLIENT && dialect === '2.0.13') return 'UNCERTAIN';
  if (address !== null || dialect === '2.0.0') return 'ADMITTED';
  // Since 2.0.13, the line of a refused connection has its client id.
  return (dialect === null ? OF_CLIENTS.has(reason) : !OF_CONNECT.has(reason.toLowerCase())) ? 'ADMITTED' : 'UNCERTAIN';
}

/** `global_max_clients` and `max_keepalive` end a connection after they have replaced the one with its client id. */
const AFTER_TAKEOVER = 'invalid input';

/** Whether the broker may have ended a connection for this reason before it was admitted. */
export function mayRefuseConnect(reason: string): boolean {
  const words = reason.toLowerCase();
  return words === AFTER_TAKEOVER || OF_CONNECT.has(words);
}

/** Whether the line may be about a connection without a client. A client may have such an id. */
export function isPlaceholder(dialect: LogDialect | null, { clientid, address }: Omit<Ended, 'reason'>): boolean {
  if (address !== null) return clientid === address;
  if (dialect !== '2.1.0' && clientid === UNKNOWN_CLIENT) return true;
  // 2.1 writes the address, which is a path for a Unix socket.
  return (dialect === '2.1.0' || dialect === null) && (isIP(clientid) > 0 || clientid.startsWith('/'));
}

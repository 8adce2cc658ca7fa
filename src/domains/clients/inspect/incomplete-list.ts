import type { CapabilityReason } from '../../../protocol/control/capability-reason.ts';
import type { LogReader } from '../../../protocol/mosquitto-log/log-reader.ts';
import { type ClientLedger, MAX_OFFLINE } from './client-ledger.ts';
import type { ConnectionCensus } from './connection-census.ts';

interface FollowedList {
  readonly reader: LogReader;
  readonly ledger: ClientLedger;
  readonly census: ConnectionCensus;
}

/** Why clients may be missing in the list, or their state unknown; `null` if the list is complete. */
export function incompleteReason({ reader, ledger, census }: FollowedList): string | null {
  if (reader.unread.hasClients) return unreadText(reader);
  if (ledger.overflowed) return `The broker has more clients than this service stores: ${ledger.size}`;
  if (ledger.hasUnknownStates) {
    return 'Clients may have disconnected: this version of Mosquitto logs a refused connection over WebSocket like the end of a connection with the same client id';
  }
  if (ledger.droppedSessions > 0) {
    return `This service stores at most ${MAX_OFFLINE} sessions of this broker whose clients are not connected. It dropped those that disconnected first: ${ledger.droppedSessions}`;
  }
  const { unknown } = census;
  if (unknown === 0) return null;
  if (unknown === null) {
    return census.isCounted
      ? 'The broker reports fewer connections than its log'
      : 'The broker has not reported its number of connections yet (`$SYS/broker/clients/connected`)';
  }
  return `The broker has connections without a client in its log, such as clients that connected before this service: ${unknown}`;
}

/** What of the log is not understood; `null` if every line is. */
export const unreadReason = (reader: LogReader): CapabilityReason | null =>
  reader.unread.count === 0 ? null : { code: 'LOG_NOT_UNDERSTOOD', text: unreadText(reader) };

function unreadText({ version, unread }: LogReader): string {
  const examples = unread.examples.map((example) => `“${example}”`).join(', ');
  const effect = unread.hasClients ? ' Lists of clients are therefore incomplete.' : '';
  const name = version === null ? 'The broker' : `This version (${version.slice(0, 60)})`;
  return `${name} logs lines that this service does not understand, such as ${examples}. Their number: ${unread.count}.${effect}`;
}

import { type ClientEndReason, type ClientEvent, LATE_EVENT_MS } from '../../../protocol/apis/clients/client-events.ts';
import {
  BY_ADMINISTRATOR,
  CLOSED_BY_CLIENT,
  type ConnectedLine,
  DISCONNECTED,
  type LogLine,
  NOT_AUTHORISED,
  TAKEN_OVER,
  TIMED_OUT,
} from '../../../protocol/mosquitto-log/log-line.ts';
import { type ClientEntry, plainAddress } from './client-entry.ts';

/** An event of a client that the log reports. Absent fields are unknown. */
export type LedgerEvent = Pick<ClientEvent, 'kind' | 'at'> & Partial<ClientEvent>;

/** Mosquitto logs no disconnects when it stops. */
export const BROKER_RESTARTED = 'the broker restarted';
/** Detail of a gap. */
export const NOT_RECEIVED = 'The log of the broker was not received.';
export const DROPPED =
  'The broker dropped lines of its log: more of them waited for this service than it queues (`max_queued_messages`), or for too long.';

/** The log has seconds only. The arrival time is more exact, unless the line was delayed. */
export const timeOf = ({ at }: LogLine, arrivedAt: number): number =>
  at === null || Math.abs(arrivedAt - at) < LATE_EVENT_MS ? arrivedAt : at;

const REASONS: ReadonlyMap<string, ClientEndReason> = new Map([
  [DISCONNECTED, 'CLIENT_DISCONNECTED'],
  [CLOSED_BY_CLIENT, 'CONNECTION_CLOSED'],
  [TIMED_OUT, 'KEEP_ALIVE_TIMEOUT'],
  [BY_ADMINISTRATOR, 'ADMINISTRATOR'],
  [NOT_AUTHORISED, 'NOT_AUTHORIZED'],
  [BROKER_RESTARTED, 'BROKER_RESTARTED'],
]);

export const connected = ({ clientid, username, address }: ConnectedLine): Omit<LedgerEvent, 'at'> => ({
  kind: 'CONNECTED',
  clientId: clientid,
  username,
  address: plainAddress(address),
});

/** The end of a connection, of which only the client id may be known. */
export function ended(
  { clientid, account = null, address = null, listenerPort = null, protocol = null }: EndedClient,
  reason: string,
  at: number,
): LedgerEvent {
  const about = { clientId: clientid, username: account, address: address && plainAddress(address), listenerPort };
  if (reason === TAKEN_OVER) return { ...about, kind: 'TAKEN_OVER', protocol, at };
  const code = REASONS.get(reason) ?? 'OTHER';
  return { ...about, kind: 'DISCONNECTED', protocol, at, reason: code, detail: code === 'OTHER' ? reason : null };
}

type EndedClient = Pick<ClientEntry, 'clientid'> &
  Partial<Pick<ClientEntry, 'account' | 'address' | 'listenerPort' | 'protocol'>>;

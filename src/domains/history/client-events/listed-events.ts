import { LISTED } from '../../../data-plane/history/client-events/client-events-module.ts';
import type { StoredEvent } from '../../../data-plane/history/client-events/stored-events.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { LiveSource } from '../../../gateway/live/live-source.ts';
import { truncatedName } from '../../../protocol/apis/clients/client-events.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import { ANONYMOUS, type ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { ClientRegistryEvent } from '../../clients/inspect/client-listing.ts';
import type { EventWriter } from './event-writer.ts';

const BETWEEN = 'The lists of the broker show another connection of the client; both ended or began between two lists.';

/**
 * Writes events of a broker that only lists its clients, by comparing its lists. Connections that begin and end between
 * two lists are not noticed. Bound: the clients of a list.
 */
export async function writeListedEvents(
  writer: EventWriter,
  source: LiveSource<ClientRegistryEvent>,
  isOwn: (clientId: string) => boolean,
): Promise<void> {
  const known = new Map<string, ConnectedClientSummary>();
  let isFirst = true;
  /** Keys of a snapshot that arrives in several parts. */
  let listed: Set<string> | null = null;
  let id = 0;
  const write = (kind: 'CONNECTED' | 'DISCONNECTED', client: ConnectedClientSummary, at: number, detail?: string) => {
    id += 1;
    if (!isFirst && !isOwn(client.clientid)) writer.event(listedEvent(kind, client, at, id, detail));
  };
  const apply = (client: ConnectedClientSummary) => {
    const key = keyOf(client);
    const before = known.get(key);
    const wasConnected = before !== undefined && before.connected !== false;
    const isConnected = client.connected !== false;
    const isOther = isConnected && wasConnected && before.lastConnect !== client.lastConnect;
    if (wasConnected && (!isConnected || isOther))
      write('DISCONNECTED', before, client.lastDisconnect ?? Date.now(), isOther ? BETWEEN : undefined);
    if (isConnected && (!wasConnected || isOther)) write('CONNECTED', client, client.lastConnect ?? Date.now());
    known.set(key, client);
  };
  const remove = (key: string) => {
    const before = known.get(key);
    known.delete(key);
    if (before !== undefined && before.connected !== false) write('DISCONNECTED', before, Date.now());
  };
  for await (const event of source) {
    const state = stateIn(event);
    if (state === null) continue;
    if (event.kind === 'SNAPSHOT') listed = new Set();
    const changed = 'clients' in state ? state.clients : state.changed;
    for (const client of changed) {
      listed?.add(keyOf(client));
      apply(client);
    }
    if ('removed' in state) state.removed.forEach(remove);
    if (event.partsLeft > 0 || listed === null) continue;
    const present = listed;
    listed = null;
    for (const key of [...known.keys()]) if (!present.has(key)) remove(key);
    if (isFirst) await begin(writer);
    isFirst = false;
  }
}

async function begin(writer: EventWriter): Promise<void> {
  const end = await writer.end();
  if (end !== null) writer.notFollowed(end, Date.now());
  writer.note('START', LISTED);
}

const listedEvent = (
  kind: 'CONNECTED' | 'DISCONNECTED',
  { clientid, username, address, protocol }: ConnectedClientSummary,
  at: number,
  id: number,
  detail: string | null = null,
): Omit<StoredEvent, 'broker'> => ({
  at,
  id,
  kind,
  clientId: truncatedName(clientid),
  username: username === ANONYMOUS ? null : truncatedName(username),
  address: address === undefined ? null : truncatedName(address),
  listenerPort: null,
  protocol: protocol ?? null,
  reason: null,
  detail,
  refusal: null,
  count: 1,
});

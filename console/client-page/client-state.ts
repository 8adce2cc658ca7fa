import type { ClientEvent, ClientState } from './operations.ts';

/** By id: in some clusters, several nodes have a client of the same client id. */
type Clients = ReadonlyMap<string, ClientState>;

export function receive(before: Clients | null, { clients, removedIds }: ClientEvent): Clients {
  const all = new Map(before);
  for (const id of removedIds) all.delete(id);
  for (const client of clients) all.set(client.id, client);
  return all;
}

/** The connected client, otherwise a stored session. */
export function clientOf(clients: Clients | null): ClientState | null {
  const all = [...(clients?.values() ?? [])];
  return all.find(({ isConnected }) => isConnected) ?? all[0] ?? null;
}

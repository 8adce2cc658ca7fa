import type { ClientService } from '../../clients/client-service.ts';
import type { ClientView } from '../../clients/client-view.ts';
import type { ClusterNodes, NodeEntry, NodeFailure } from './cluster-nodes.ts';

export interface FoundClient {
  readonly node: NodeEntry;
  readonly view: ClientView;
}

export async function findClients(
  nodes: ClusterNodes,
  clients: Pick<ClientService, 'find'>,
  clientid: string,
  nodeId: number | null = null,
): Promise<{ readonly found: readonly FoundClient[]; readonly failures: readonly NodeFailure[] }> {
  const all = nodes.all();
  const asked = nodeId === null ? all : all.filter((node) => node.nodeId === nodeId);
  if (asked.length === 0 && all.length > 0) return { found: [], failures: [] };
  const { results, failures } = await nodes.callAll(({ broker }) => clients.find(broker, clientid), asked);
  return {
    found: results.flatMap(({ node, value: view }) => (view === null ? [] : [{ node, view }])),
    failures,
  };
}

export const isConnected = ({ view: { known } }: FoundClient): boolean => known.connected !== false;

/** Returns the connected client. Of several, the one that connected last, or that of the first node. */
export function latest(found: readonly FoundClient[]): FoundClient | null {
  const [first = null] = found.toSorted(
    (one, other) => Number(isConnected(other)) - Number(isConnected(one)) || cameAt(other) - cameAt(one),
  );
  return first;
}

const cameAt = ({ view: { known } }: FoundClient): number => known.lastConnect ?? 0;

import type { ClientService } from '../../clients/client-service.ts';
import type { ClientView } from '../../clients/client-view.ts';
import type { NodeFailure, ServingNode, ServingNodes } from './serving-nodes.ts';

/** A client at a node. */
export interface FoundClient {
  readonly node: ServingNode;
  readonly view: ClientView;
}

/** Where there is a client of this id, and which nodes could not be asked. Errors: of the first node, where none can be. */
export async function foundClients(
  nodes: ServingNodes,
  clients: Pick<ClientService, 'find'>,
  clientid: string,
  nodeId: number | null = null,
): Promise<{ readonly found: readonly FoundClient[]; readonly failures: readonly NodeFailure[] }> {
  const all = nodes.all();
  const asked = nodeId === null ? all : all.filter((node) => node.nodeId === nodeId);
  if (asked.length === 0 && all.length > 0) return { found: [], failures: [] };
  const { answers, failures } = await nodes.each(({ broker }) => clients.find(broker, clientid), asked);
  return {
    found: answers.flatMap(({ node, answer: view }) => (view === null ? [] : [{ node, view }])),
    failures,
  };
}

/** Whether it is, or may be. */
export const isConnected = ({ view: { known } }: FoundClient): boolean => known.connected !== false;

/** The one that is connected, and of several the one that came last; of those with the same time that of the first node. */
export function latest(found: readonly FoundClient[]): FoundClient | null {
  const [first = null] = found.toSorted(
    (one, other) => Number(isConnected(other)) - Number(isConnected(one)) || cameAt(other) - cameAt(one),
  );
  return first;
}

const cameAt = ({ view: { known } }: FoundClient): number => known.lastConnect ?? 0;

import { type ClientRef, keyOf } from '../../../protocol/apis/clients/client-key.ts';
import type { ClientSource, ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { ClusterNodes, NodeEntry } from './cluster-nodes.ts';
import { NodeClients } from './node-clients.ts';

interface MergedClientsOptions {
  readonly nodes: ClusterNodes;
  readonly clients: Pick<ClientService, 'watch' | 'page'>;
  readonly onChange: () => void;
}

interface MergedState {
  /** Whether all nodes are connected and report all of their clients. */
  readonly complete: boolean;
  readonly since?: number;
  readonly source: ClientSource;
}

interface MergedChanges {
  readonly changed: readonly ConnectedClientSummary[];
  readonly removed: readonly ClientRef[];
}

/**
 * Merges the connected clients of all nodes. The clients of a disconnected node are removed, because their state is
 * unknown. Changes are collected until `takeChanges`, each client once.
 */
export class MergedClients {
  readonly #options: MergedClientsOptions;
  readonly #nodeClients = new Map<number, NodeClients>();
  #changed = new Map<string, ClientRef>();
  #stop: Stop | null = null;

  constructor(options: MergedClientsOptions) {
    this.#options = options;
  }

  get size(): number {
    let size = 0;
    for (const node of this.#nodeClients.values()) size += node.size;
    return size;
  }

  *all(): Generator<ConnectedClientSummary> {
    for (const node of this.#nodeClients.values()) yield* node.all();
  }

  state(): MergedState {
    const nodes = this.#options.nodes.all();
    const states = nodes.map(({ nodeId }) => this.#nodeClients.get(nodeId)?.state ?? null);
    const since = Math.max(...states.map((state) => state?.since ?? 0));
    const isFollowed = states.some((state) => state?.source === 'LOG_FEED');
    return {
      complete: states.length > 0 && states.every((state) => state?.complete === true),
      source: isFollowed ? 'LOG_FEED' : 'BROKER',
      ...(since > 0 ? { since } : {}),
    };
  }

  async catchUp(): Promise<void> {
    const { nodes, onChange } = this.#options;
    this.#stop ??= nodes.onChange(() => {
      this.#updateNodes();
      onChange();
    });
    this.#updateNodes();
    await nodes.callAll(async (node) => {
      const nodeClients = this.#nodeClients.get(node.nodeId);
      // Not connected: any request returns the error of the node.
      if (nodeClients === undefined) await this.#options.clients.page(node.broker, { first: 0 });
      await this.#of(node).catchUp();
    });
  }

  takeChanges(): MergedChanges {
    const changed: ConnectedClientSummary[] = [];
    const removed: ClientRef[] = [];
    for (const place of this.#changed.values()) {
      const client = this.#nodeClients.get(place.node ?? 0)?.get(place.clientid);
      if (client) changed.push(client);
      else removed.push(place);
    }
    this.#changed = new Map();
    return { changed, removed };
  }

  close(): void {
    this.#stop?.();
    this.#stop = null;
    for (const node of this.#nodeClients.values()) node.close();
    this.#nodeClients.clear();
    this.#changed = new Map();
  }

  #updateNodes(): void {
    const { nodes } = this.#options;
    const reached = nodes.all().filter((node) => nodes.isConnected(node));
    const brokers = new Map(reached.map(({ nodeId, broker }) => [nodeId, broker.id]));
    for (const [nodeId, nodeClients] of this.#nodeClients) {
      if (brokers.get(nodeId) === nodeClients.node.broker.id) continue;
      nodeClients.close();
      this.#nodeClients.delete(nodeId);
    }
    // `catchUp` reports the errors.
    for (const node of reached)
      this.#of(node)
        .start()
        .catch(() => undefined);
  }

  #of(node: NodeEntry): NodeClients {
    const { nodeId } = node;
    const known = this.#nodeClients.get(nodeId);
    if (known !== undefined) return known;
    const { clients, onChange } = this.#options;
    const nodeClients = new NodeClients({
      node,
      clients,
      onChange: (clientid) => {
        if (clientid !== null) {
          const place = { clientid, node: nodeId };
          this.#changed.set(keyOf(place), place);
        }
        onChange();
      },
    });
    this.#nodeClients.set(nodeId, nodeClients);
    return nodeClients;
  }
}

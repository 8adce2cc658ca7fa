import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { ClientService } from '../../clients/client-service.ts';
import { type ClientPlace, keyOf } from '../../clients/inspect/client-key.ts';
import type { ClientSource, ConnectedClientSummary } from '../../clients/inspect/inspect-control.ts';
import { FollowedNode } from './followed-node.ts';
import type { ServingNode, ServingNodes } from './serving-nodes.ts';

export interface MergedClientsOptions {
  readonly nodes: ServingNodes;
  readonly clients: Pick<ClientService, 'watch' | 'page'>;
  /** Some became different, or what is known of all. */
  readonly onChange: () => void;
}

/** What may be missing. */
export interface MergedState {
  /** False: a node is not reached, cannot tell its clients, or does not know all of them. */
  readonly complete: boolean;
  /** Epoch milliseconds since when the last one is followed. */
  readonly since?: number;
  readonly source: ClientSource;
}

export interface MergedChanges {
  readonly changed: readonly ConnectedClientSummary[];
  readonly removed: readonly ClientPlace[];
}

/**
 * The clients of all nodes of a cluster, while somebody wants to know. A node that goes away takes its clients with it: nobody can tell
 * whether they are still there. Changes are collected until they are taken, each client once.
 */
export class MergedClients {
  readonly #options: MergedClientsOptions;
  readonly #followed = new Map<number, FollowedNode>();
  #changed = new Map<string, ClientPlace>();
  #stop: Stop | null = null;

  constructor(options: MergedClientsOptions) {
    this.#options = options;
  }

  get size(): number {
    let size = 0;
    for (const node of this.#followed.values()) size += node.size;
    return size;
  }

  *all(): Generator<ConnectedClientSummary> {
    for (const node of this.#followed.values()) yield* node.all();
  }

  state(): MergedState {
    const nodes = this.#options.nodes.all();
    const states = nodes.map(({ nodeId }) => this.#followed.get(nodeId)?.state ?? null);
    const since = Math.max(...states.map((state) => state?.since ?? 0));
    const isFollowed = states.some((state) => state?.source === 'LOG_FEED');
    return {
      complete: states.length > 0 && states.every((state) => state?.complete === true),
      source: isFollowed ? 'LOG_FEED' : 'BROKER',
      ...(since > 0 ? { since } : {}),
    };
  }

  /** All that nodes told until now is known; a node that cannot be asked is left out. Errors: of the first node, where none can be. */
  async catchUp(): Promise<void> {
    const { nodes, onChange } = this.#options;
    this.#stop ??= nodes.onChange(() => {
      this.#look();
      onChange();
    });
    this.#look();
    await nodes.each(async (node) => {
      const followed = this.#followed.get(node.nodeId);
      // Not connected: its error is that of any question.
      if (followed === undefined) await this.#options.clients.page(node.broker, { first: 0 });
      await this.#of(node).catchUp();
    });
  }

  /** Those that became different since this was asked last. */
  takeChanges(): MergedChanges {
    const changed: ConnectedClientSummary[] = [];
    const removed: ClientPlace[] = [];
    for (const place of this.#changed.values()) {
      const client = this.#followed.get(place.node ?? 0)?.get(place.clientid);
      if (client) changed.push(client);
      else removed.push(place);
    }
    this.#changed = new Map();
    return { changed, removed };
  }

  /** Nobody wants to know any more. */
  close(): void {
    this.#stop?.();
    this.#stop = null;
    for (const node of this.#followed.values()) node.close();
    this.#followed.clear();
    this.#changed = new Map();
  }

  /** Nodes that are reached are followed, others are not. */
  #look(): void {
    const { nodes } = this.#options;
    const reached = nodes.all().filter((node) => nodes.isConnected(node));
    const brokers = new Map(reached.map(({ nodeId, broker }) => [nodeId, broker.id]));
    for (const [nodeId, followed] of this.#followed) {
      if (brokers.get(nodeId) === followed.node.broker.id) continue;
      followed.close();
      this.#followed.delete(nodeId);
    }
    for (const node of reached) {
      // What fails here is told to whoever asks.
      this.#of(node)
        .begin()
        .catch(() => undefined);
    }
  }

  #of(node: ServingNode): FollowedNode {
    const { nodeId } = node;
    const known = this.#followed.get(nodeId);
    if (known !== undefined) return known;
    const { clients, onChange } = this.#options;
    const followed = new FollowedNode({
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
    this.#followed.set(nodeId, followed);
    return followed;
  }
}

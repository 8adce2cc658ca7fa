import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import {
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
  type PluginHost,
} from '../../../protocol/control/plugin.ts';
import { pageOf, requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { ClientService } from '../../clients/client-service.ts';
import {
  type ClientQueues,
  type ClientsChangedEvent,
  getQueues,
  INSPECT_API,
  type ListClientsData,
} from '../../clients/inspect/inspect-control.ts';
import { type FoundClient, foundClients, latest } from './found-clients.ts';
import { MergedClients } from './merged-clients.ts';
import type { AskNode, ServingNodes } from './serving-nodes.ts';

export interface MergedInspectOptions {
  readonly nodes: ServingNodes;
  readonly clients: Pick<ClientService, 'watch' | 'page' | 'find'>;
  readonly ask: AskNode;
  /** Changes of so long a time are told as one event. Default 50. */
  readonly coalesceMs?: number;
  /** Nodes are followed so long after the last question while nobody listens. Default 60,000. */
  readonly idleMs?: number;
}

/** Clients per event. */
const MAX_CHANGED = 1_000;

/**
 * `cedalo/inspect` for a cluster whose nodes have clients of their own: the clients of all nodes in one list. A client is known by its id
 * and its `node`, so that the same id at two nodes is there twice. Events have numbers of their own, from 1 on for each connection of
 * the cluster. `complete` is false while a node is away or does not know all of its clients, and `since` is that of the node that was
 * followed last.
 *
 * Nodes are followed while somebody listens or has asked lately, by the lists that those who look at the nodes share.
 */
export const mergedInspectPlugin = (options: MergedInspectOptions): PluginFactory => ({
  api: INSPECT_API,
  instead: true,
  create: async (host) => new MergedInspect(host, options),
});

class MergedInspect implements ControlPlugin {
  readonly api = INSPECT_API;
  readonly #host: PluginHost;
  readonly #options: MergedInspectOptions;
  readonly #clients: MergedClients;
  readonly #idleMs: number;
  readonly #ticker: NodeJS.Timeout;
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;
  #askedAt = 0;
  #toldState = '';
  #closed = false;

  constructor(host: PluginHost, options: MergedInspectOptions) {
    const { nodes, clients, idleMs = 60_000 } = options;
    this.#host = host;
    this.#options = options;
    this.#idleMs = idleMs;
    this.#clients = new MergedClients({ nodes, clients, onChange: () => this.#tellSoon() });
    this.#ticker = setInterval(() => this.#tick(), idleMs / 2);
    this.#ticker.unref();
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf(
      {
        listclients: () => this.#list(command),
        getclient: () => this.#get(command),
        getqueues: () => this.#queues(command),
      },
      command,
    );
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#ticker);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#clients.close();
  }

  async #list(command: ControlCommand): Promise<object> {
    const { verbose, count, offset } = pageOf(command);
    this.#askedAt = Date.now();
    await this.#clients.catchUp();
    // The number that the list carries is of an event that says the same.
    this.#tell();
    const clients = [...this.#clients.all()].slice(offset, offset + count);
    const state = { totalCount: this.#clients.size, sequence: this.#sequence, ...this.#clients.state() };
    if (!verbose) return { ...state, clients: clients.map(({ clientid }) => clientid) };
    return { ...state, clients } satisfies ListClientsData;
  }

  async #get(command: ControlCommand): Promise<object> {
    const { nodes, clients } = this.#options;
    const clientid = requiredText(command, 'clientid');
    const { found } = await foundClients(nodes, clients, clientid, nodeIn(command.node));
    const client = latest(found);
    if (client === null) throw new ControlRefusal('Client not found');
    return detailOf(client);
  }

  async #queues({ clientids, nodes: given }: ControlCommand): Promise<object> {
    const { nodes, ask } = this.#options;
    if (!Array.isArray(clientids)) throw new ControlRefusal('Invalid/missing clientids');
    const ids = clientids.map(String);
    const nodeIds: readonly unknown[] = Array.isArray(given) ? given : [];
    const queues: (ClientQueues | null)[] = ids.map(() => null);
    await nodes.each(async (node) => {
      const isMeant = (index: number) => (nodeIn(nodeIds[index]) ?? node.nodeId) === node.nodeId;
      const places = [...ids.keys()].filter(isMeant);
      if (places.length === 0) return;
      const some = places.map((index) => ({ clientid: ids[index] ?? '' }));
      const told = await ask(node, (controls) => getQueues(controls, some));
      for (const [at, index] of places.entries()) queues[index] ??= told[at] ?? null;
    });
    return { queues };
  }

  #tellSoon(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => this.#tell(), this.#options.coalesceMs ?? 50);
  }

  #tell(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const { changed, removed } = this.#clients.takeChanges();
    const state = JSON.stringify(this.#clients.state());
    if (changed.length + removed.length === 0 && state === this.#toldState) return;
    this.#toldState = state;
    const left = [...changed];
    const gone = [...removed];
    do {
      const now = left.splice(0, MAX_CHANGED);
      this.#emit(now, gone.splice(0, MAX_CHANGED - now.length));
    } while (left.length + gone.length > 0);
  }

  #emit(
    changed: ClientsChangedEvent['changed'],
    removed: readonly { readonly clientid: string; readonly node?: number }[],
  ): void {
    this.#sequence += 1;
    const event: ClientsChangedEvent = {
      type: 'event',
      event: 'clientsChanged',
      sequence: this.#sequence,
      changed,
      removed: removed.map(({ clientid }) => clientid),
      removedNodes: removed.map(({ node }) => node ?? 0),
      ...this.#clients.state(),
    };
    this.#host.emit(event);
  }

  #tick(): void {
    const isWanted = this.#host.isHeard?.() !== false || Date.now() - this.#askedAt < this.#idleMs;
    // A node that could not be followed is tried again.
    if (isWanted && this.#askedAt > 0) this.#clients.catchUp().catch(() => undefined);
    else if (!isWanted) this.#clients.close();
  }
}

const nodeIn = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const detailOf = ({ node: { nodeId }, view: { known, source } }: FoundClient) => ({ ...known, node: nodeId, source });

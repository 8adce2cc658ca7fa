import { getQueues, INSPECT_API, listAllBacklogs } from '../../../protocol/apis/clients/inspect-control.ts';
import type {
  BacklogPage,
  ClientQueues,
  ClientsChangedEvent,
  ListClientsData,
} from '../../../protocol/apis/clients/inspect-data.ts';
import { listSubscribers, subscriberRequestOf } from '../../../protocol/apis/clients/subscriber-control.ts';
import { FirstSubscribers, type SubscriberList } from '../../../protocol/apis/clients/subscriber-list.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { ControlRefusal, type PluginFactory, type PluginHost } from '../../../protocol/control/plugin.ts';
import { pageOf, requiredText } from '../../../protocol/control/plugin-arguments.ts';
import type { ClientService } from '../../clients/client-service.ts';
import { type FoundClient, findClients, latest } from './client-lookup.ts';
import type { CallNode, ClusterNodes } from './cluster-nodes.ts';
import { type ClusterCommands, clusterPlugin } from './cluster-plugin.ts';
import { MergedClients } from './merged-clients.ts';

interface MergedInspectOptions {
  readonly nodes: ClusterNodes;
  readonly clients: Pick<ClientService, 'watch' | 'page' | 'find'>;
  readonly call: CallNode;
}

const COALESCE_MS = 50;
/** How long nodes stay subscribed after the last request without a listener. */
const IDLE_MS = 60_000;

const MAX_CHANGED = 1_000;

/**
 * `cedalo/inspect` for a cluster whose nodes have their own clients. A client is identified by its id and its `node`.
 * The sequence numbers of events start at 1 for each connection of the cluster. `complete` is false while a node is
 * disconnected or does not report all of its clients. The plugin subscribes to nodes while it has listeners or was
 * recently called; other users of a node share these subscriptions.
 */
export const mergedInspectPlugin = (options: MergedInspectOptions): PluginFactory =>
  clusterPlugin(INSPECT_API, (host) => new MergedInspect(host, options));

class MergedInspect implements ClusterCommands {
  readonly #host: PluginHost;
  readonly #options: MergedInspectOptions;
  readonly #clients: MergedClients;
  readonly #ticker = setInterval(() => this.#tick(), IDLE_MS / 2).unref();
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;
  #lastRequestAt = 0;
  #lastState = '';
  #closed = false;

  constructor(host: PluginHost, options: MergedInspectOptions) {
    const { nodes, clients } = options;
    this.#host = host;
    this.#options = options;
    this.#clients = new MergedClients({ nodes, clients, onChange: () => this.#scheduleEmit() });
  }

  readonly commands: ClusterCommands['commands'] = {
    listclients: (command) => this.#list(command),
    getclient: (command) => this.#get(command),
    getqueues: (command) => this.#queues(command),
    listbacklogs: () => this.#backlogs(),
    listsubscribers: (command) => this.#subscribers(command),
  };

  readonly close = () => {
    this.#closed = true;
    clearInterval(this.#ticker);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#clients.close();
  };

  async #list(command: ControlCommand): Promise<object> {
    const { verbose, count, offset } = pageOf(command);
    this.#lastRequestAt = Date.now();
    await this.#clients.catchUp();
    // The list must contain the sequence number of an event with the same state.
    this.#emitChanges();
    const clients = [...this.#clients.all()].slice(offset, offset + count);
    const state = { totalCount: this.#clients.size, sequence: this.#sequence, ...this.#clients.state() };
    if (!verbose) return { ...state, clients: clients.map(({ clientid }) => clientid) };
    return { ...state, clients } satisfies ListClientsData;
  }

  async #get(command: ControlCommand): Promise<object> {
    const { nodes, clients } = this.#options;
    const clientid = requiredText(command, 'clientid');
    const { found } = await findClients(nodes, clients, clientid, nodeIn(command.node));
    const client = latest(found);
    if (client === null) throw new ControlRefusal('Client not found');
    return detailOf(client);
  }

  async #queues({ clientids, nodes: given }: ControlCommand): Promise<object> {
    const { nodes, call } = this.#options;
    if (!Array.isArray(clientids)) throw new ControlRefusal('Invalid/missing clientids');
    const ids = clientids.map(String);
    const nodeIds: readonly unknown[] = Array.isArray(given) ? given : [];
    const queues: (ClientQueues | null)[] = ids.map(() => null);
    await nodes.callAll(async (node) => {
      const isRequested = (index: number) => (nodeIn(nodeIds[index]) ?? node.nodeId) === node.nodeId;
      const indexes = [...ids.keys()].filter(isRequested);
      if (indexes.length === 0) return;
      const some = indexes.map((index) => ({ clientid: ids[index] ?? '' }));
      const counts = await call(node, (controls) => getQueues(controls, some));
      for (const [at, index] of indexes.entries()) queues[index] ??= counts[at] ?? null;
    });
    return { queues };
  }

  async #backlogs(): Promise<BacklogPage> {
    const { nodes, call } = this.#options;
    const { results, failures } = await nodes.callAll((node) => call(node, listAllBacklogs));
    return {
      backlogs: results.flatMap(({ nodeId: node, value }) => value.backlogs.map((backlog) => ({ ...backlog, node }))),
      unknownNodes: failures.map(({ node }) => node.nodeId),
    };
  }

  async #subscribers(command: ControlCommand): Promise<SubscriberList> {
    const { nodes, call } = this.#options;
    const request = subscriberRequestOf(command);
    const { results, failures } = await nodes.callAll((node) =>
      call(node, (controls) => listSubscribers(controls, request)),
    );
    const first = new FirstSubscribers(request.count);
    let uncounted = 0;
    for (const { nodeId: node, value } of results) {
      for (const subscriber of value.subscribers) first.add({ ...subscriber, node });
      uncounted += value.totalCount - value.subscribers.length;
    }
    return first.list(failures.length === 0 && results.every(({ value }) => value.complete), uncounted);
  }

  #scheduleEmit(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => this.#emitChanges(), COALESCE_MS);
  }

  #emitChanges(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const { changed, removed } = this.#clients.takeChanges();
    const state = JSON.stringify(this.#clients.state());
    if (changed.length + removed.length === 0 && state === this.#lastState) return;
    this.#lastState = state;
    const changedLeft = [...changed];
    const removedLeft = [...removed];
    do {
      const now = changedLeft.splice(0, MAX_CHANGED);
      this.#emit(now, removedLeft.splice(0, MAX_CHANGED - now.length));
    } while (changedLeft.length + removedLeft.length > 0);
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
    const isWanted = this.#host.isHeard?.() !== false || Date.now() - this.#lastRequestAt < IDLE_MS;
    // Retries nodes whose subscription failed.
    if (isWanted && this.#lastRequestAt > 0) this.#clients.catchUp().catch(() => undefined);
    else if (!isWanted) this.#clients.close();
  }
}

const nodeIn = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const detailOf = ({ node: { nodeId }, view: { known, source } }: FoundClient) => ({ ...known, node: nodeId, source });

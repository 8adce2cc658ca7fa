import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { LiveSource } from '../../../gateway/live/live-source.ts';
import type { ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { ClientListState, ClientRegistryEvent } from '../../clients/inspect/client-listing.ts';
import type { NodeEntry } from './cluster-nodes.ts';

interface NodeClientsOptions {
  readonly node: NodeEntry;
  readonly clients: Pick<ClientService, 'watch' | 'page'>;
  /** Called with the id of a client that was added, changed or removed. `null`: the state of the whole list changed. */
  readonly onChange: (clientid: string | null) => void;
}

/** Connected clients of one node, updated by a subscription: IDLE -> SUBSCRIBED -> LOST or closed. */
export class NodeClients {
  readonly node: NodeEntry;
  readonly #options: NodeClientsOptions;
  #clients = new Map<string, ConnectedClientSummary>();
  #snapshot: Map<string, ConnectedClientSummary> | null = null;
  #source: LiveSource<ClientRegistryEvent> | null = null;
  #starting: Promise<void> | null = null;
  #isWaiting = false;
  #closed = false;
  #state: ClientListState | null = null;

  constructor(options: NodeClientsOptions) {
    this.#options = options;
    this.node = options.node;
  }

  get state(): ClientListState | null {
    return this.#state;
  }

  get size(): number {
    return this.#clients.size;
  }

  all(): IterableIterator<ConnectedClientSummary> {
    return this.#clients.values();
  }

  get(clientid: string): ConnectedClientSummary | null {
    return this.#clients.get(clientid) ?? null;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  /** Waits until all events are applied that the node has sent so far. Errors: those of the node. */
  async catchUp(): Promise<void> {
    await this.start();
    await this.#options.clients.page(this.node.broker, { first: 0 });
    this.#drain();
  }

  close(): void {
    this.#closed = true;
    this.#reset();
  }

  async #start(): Promise<void> {
    if (this.#source !== null || this.#closed) return;
    try {
      const source = await this.#options.clients.watch(this.node.broker, {});
      if (this.#closed) {
        await source.return();
        return;
      }
      this.#source = source;
      this.#drain();
    } catch (error) {
      this.#reset();
      throw error;
    }
  }

  #drain(): void {
    const source = this.#source;
    if (source === null) return;
    try {
      for (let event = source.take(); event !== null; event = source.take()) this.#apply(event);
    } catch {
      this.#reset();
      return;
    }
    if (source.isOver) this.#reset();
    else if (!this.#isWaiting) {
      this.#isWaiting = true;
      source.wait(() => {
        this.#isWaiting = false;
        if (this.#source !== null) this.#drain();
      });
    }
  }

  #apply(event: ClientRegistryEvent): void {
    const state = stateIn(event);
    if (state === null) return;
    const isOther = state.complete !== this.#state?.complete || state.since !== this.#state.since;
    const wasKnown = this.#state !== null;
    if (event.kind === 'SNAPSHOT') this.#snapshot = new Map();
    const changed =
      event.kind === 'SNAPSHOT' ? event.snapshot.clients : event.kind === 'CHANGE' ? event.change.changed : [];
    const removed = event.kind === 'CHANGE' ? event.change.removed : [];
    const clients = this.#snapshot ?? this.#clients;
    for (const client of changed) {
      clients.set(client.clientid, { ...client, node: this.node.nodeId, source: state.source });
      if (this.#snapshot === null) this.#options.onChange(client.clientid);
    }
    for (const clientid of removed) {
      if (clients.delete(clientid) && this.#snapshot === null) this.#options.onChange(clientid);
    }
    if (this.#snapshot !== null && event.partsLeft > 0) return;
    this.#state = state;
    if (this.#snapshot !== null) this.#replaceClients(this.#snapshot);
    if (isOther || !wasKnown) this.#options.onChange(null);
  }

  #replaceClients(clients: Map<string, ConnectedClientSummary>): void {
    const before = this.#clients;
    this.#clients = clients;
    this.#snapshot = null;
    for (const clientid of before.keys()) if (!clients.has(clientid)) this.#options.onChange(clientid);
    for (const clientid of clients.keys()) this.#options.onChange(clientid);
  }

  #reset(): void {
    const source = this.#source;
    this.#source = null;
    this.#isWaiting = false;
    this.#state = null;
    this.#replaceClients(new Map());
    this.#options.onChange(null);
    void source?.return();
  }
}

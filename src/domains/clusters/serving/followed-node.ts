import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { LiveSource } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { ClientListState, ClientRegistryEvent } from '../../clients/inspect/client-registry.ts';
import type { ConnectedClientSummary } from '../../clients/inspect/inspect-control.ts';
import type { ServingNode } from './serving-nodes.ts';

export interface FollowedNodeOptions {
  readonly node: ServingNode;
  readonly clients: Pick<ClientService, 'watch' | 'page'>;
  /** Of clients that came, became different or went; null: what is known of all of them. */
  readonly onChange: (clientid: string | null) => void;
}

/** The clients of one node of a cluster as they are told to whoever watches that node: IDLE -> FOLLOWED -> LOST or closed. */
export class FollowedNode {
  readonly node: ServingNode;
  readonly #options: FollowedNodeOptions;
  #clients = new Map<string, ConnectedClientSummary>();
  /** Of a snapshot that is not told to its end yet. */
  #arriving: Map<string, ConnectedClientSummary> | null = null;
  #source: LiveSource<ClientRegistryEvent> | null = null;
  #beginning: Promise<void> | null = null;
  #isWaiting = false;
  #closed = false;
  #state: ClientListState | null = null;
  #error: ServiceError | null = null;

  constructor(options: FollowedNodeOptions) {
    this.#options = options;
    this.node = options.node;
  }

  /** Null: they are not known. */
  get state(): ClientListState | null {
    return this.#state;
  }

  /** Why they are not. */
  get error(): ServiceError | null {
    return this.#error;
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

  /** Errors: those of the node. */
  begin(): Promise<void> {
    this.#beginning ??= this.#begin().finally(() => {
      this.#beginning = null;
    });
    return this.#beginning;
  }

  /** All that the node has told until now is known. Errors: those of the node. */
  async catchUp(): Promise<void> {
    await this.begin();
    await this.#options.clients.page(this.node.broker, { first: 0 });
    this.#takeAll();
  }

  close(): void {
    this.#closed = true;
    this.#lose(null);
  }

  async #begin(): Promise<void> {
    if (this.#source !== null || this.#closed) return;
    try {
      const source = await this.#options.clients.watch(this.node.broker, {});
      if (this.#closed) {
        await source.return();
        return;
      }
      this.#source = source;
      this.#error = null;
      this.#takeAll();
    } catch (error) {
      this.#lose(error);
      throw error;
    }
  }

  #takeAll(): void {
    const source = this.#source;
    if (source === null) return;
    try {
      for (let event = source.take(); event !== null; event = source.take()) this.#take(event);
    } catch (error) {
      this.#lose(error);
      return;
    }
    if (source.isOver) this.#lose(null);
    else if (!this.#isWaiting) {
      this.#isWaiting = true;
      source.wait(() => {
        this.#isWaiting = false;
        if (this.#source !== null) this.#takeAll();
      });
    }
  }

  #take(event: ClientRegistryEvent): void {
    const state = stateIn(event);
    if (state === null) return;
    const isOther = state.complete !== this.#state?.complete || state.since !== this.#state.since;
    const wasKnown = this.#state !== null;
    if (event.kind === 'SNAPSHOT') this.#arriving = new Map();
    const changed =
      event.kind === 'SNAPSHOT' ? event.snapshot.clients : event.kind === 'CHANGE' ? event.change.changed : [];
    const removed = event.kind === 'CHANGE' ? event.change.removed : [];
    const clients = this.#arriving ?? this.#clients;
    for (const client of changed) {
      clients.set(client.clientid, { ...client, node: this.node.nodeId, source: state.source });
      if (this.#arriving === null) this.#options.onChange(client.clientid);
    }
    for (const clientid of removed) {
      if (clients.delete(clientid) && this.#arriving === null) this.#options.onChange(clientid);
    }
    if (this.#arriving !== null && event.partsLeft > 0) return;
    this.#state = state;
    if (this.#arriving !== null) this.#arrived(this.#arriving);
    if (isOther || !wasKnown) this.#options.onChange(null);
  }

  #arrived(clients: Map<string, ConnectedClientSummary>): void {
    const before = this.#clients;
    this.#clients = clients;
    this.#arriving = null;
    for (const clientid of before.keys()) if (!clients.has(clientid)) this.#options.onChange(clientid);
    for (const clientid of clients.keys()) this.#options.onChange(clientid);
  }

  /** Nobody tells of its clients: they are not known any more. A bug is nobody's reason. */
  #lose(reason: unknown): void {
    const source = this.#source;
    this.#source = null;
    this.#isWaiting = false;
    this.#state = null;
    this.#error = reason instanceof ServiceError ? reason : null;
    this.#arrived(new Map());
    this.#options.onChange(null);
    void source?.return();
  }
}

import type { Client } from 'aedes';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { subscriptionsOf } from '../core/aedes-internals.ts';
import type { BrokerCore } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { Session } from '../store/session.ts';

interface SubscribedFiltersOptions {
  readonly core: BrokerCore;
  readonly registry: ClientRegistry;
  readonly store: BrokerStore;
  readonly ownClientIds: string;
  readonly onUse: (filter: string, qos: 0 | 1 | 2) => void;
  readonly onRelease: (filter: string) => void;
}

/** The topic filters of sessions and clients with their number of subscribers. `scan` counts the existing ones. */
export class SubscribedFilters {
  readonly #options: SubscribedFiltersOptions;
  /** For each filter the number of subscribers times 4, plus the last requested QoS. */
  readonly #uses = new Map<string, number>();
  /** Filters of clients with a clean session. */
  readonly #clients = new Map<Client, Set<string>>();
  /** Sessions that were counted. `null` if all were. */
  #sessionsSeen: Set<Session> | null = new Set();
  #isClosed = false;

  constructor(options: SubscribedFiltersOptions) {
    this.#options = options;
    options.store.sessions.subscriptionListener = {
      subscribed: (session, filter, qos, isNew) => {
        if (this.#isOwn(session.id)) return;
        if (!this.#isSeen(session)) this.#seeSession(session);
        else this.#use(filter, qos, isNew);
      },
      unsubscribed: (session, filter) => {
        if (!this.#isOwn(session.id) && this.#isSeen(session)) this.#release(filter);
      },
      ended: (session) => {
        if (this.#isOwn(session.id) || !this.#isSeen(session)) return;
        this.#sessionsSeen?.delete(session);
        for (const filter of session.subscriptions.keys()) this.#release(filter);
      },
    };
    options.core.transientSubscriptionListener = {
      subscribed: (client, subscriptions) => {
        if (this.#isOwn(client.id)) return;
        const filters = this.#clients.get(client);
        if (!filters) this.#seeClient(client);
        else {
          for (const { topic, qos } of subscriptions) {
            this.#use(topic, qos, !filters.has(topic));
            filters.add(topic);
          }
        }
      },
      unsubscribed: (client, filter) => {
        const filters = this.#clients.get(client);
        if (!filters?.delete(filter)) return;
        if (filters.size === 0) this.#clients.delete(client);
        this.#release(filter);
      },
    };
  }

  *scan(): SlicedTask<void> {
    const { registry, store } = this.#options;
    for (const { client, identity } of registry.open) {
      if (this.#isClosed) return;
      if (!client || !identity || !client.clean || client.closed || this.#isOwn(client.id)) continue;
      if (!this.#clients.has(client)) this.#seeClient(client);
      yield;
    }
    for (const session of store.sessions.all()) {
      if (this.#isClosed) return;
      if (!this.#isOwn(session.id) && !this.#isSeen(session)) this.#seeSession(session);
      yield;
    }
    this.#sessionsSeen = null;
  }

  has(filter: string): boolean {
    return this.#uses.has(filter);
  }

  /** All filters with the last requested QoS. Changes during the iteration are included. */
  *all(): Generator<[filter: string, qos: 0 | 1 | 2]> {
    for (const [filter, use] of this.#uses) yield [filter, qosOf(use)];
  }

  close(): void {
    const { store, core } = this.#options;
    this.#isClosed = true;
    store.sessions.subscriptionListener = null;
    core.transientSubscriptionListener = null;
    this.#uses.clear();
    this.#clients.clear();
  }

  #isOwn(clientId: string): boolean {
    return clientId.startsWith(this.#options.ownClientIds);
  }

  #isSeen(session: Session): boolean {
    return this.#sessionsSeen?.has(session) ?? true;
  }

  #seeSession(session: Session): void {
    this.#sessionsSeen?.add(session);
    for (const [filter, { qos }] of session.subscriptions) this.#use(filter, qos, true);
  }

  #seeClient(client: Client): void {
    const subscriptions = subscriptionsOf(client);
    const filters = Object.keys(subscriptions);
    if (filters.length > 0) this.#clients.set(client, new Set(filters));
    for (const filter of filters) this.#use(filter, subscriptions[filter]?.granted ?? 0, true);
  }

  #use(filter: string, qos: 0 | 1 | 2, isNew: boolean): void {
    const count = countOf(this.#uses.get(filter) ?? 0);
    this.#uses.set(filter, (isNew ? count + 1 : count) * 4 + qos);
    this.#options.onUse(filter, qos);
  }

  #release(filter: string): void {
    const use = this.#uses.get(filter);
    if (use === undefined) return;
    if (countOf(use) > 1) {
      this.#uses.set(filter, use - 4);
      return;
    }
    this.#uses.delete(filter);
    this.#options.onRelease(filter);
  }
}

const countOf = (use: number): number => use >>> 2;

const qosOf = (use: number) => (use & 3) as 0 | 1 | 2;

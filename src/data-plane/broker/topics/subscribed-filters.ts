import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { ClientRegistry } from '../clients/client-registry.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { SubscriptionHolder } from '../store/subscription.ts';

interface SubscribedFiltersOptions {
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
  /** Who was counted. `null` if all were. */
  #seen: WeakSet<SubscriptionHolder> | null = new WeakSet();
  #isClosed = false;

  constructor(options: SubscribedFiltersOptions) {
    this.#options = options;
    options.store.subscriptions.listener = {
      subscribed: ({ holder, clientId, topic, qos }, isNew) => {
        if (this.#isOwn(clientId)) return;
        if (!this.#isSeen(holder)) this.#see(holder);
        else this.#use(topic, qos, isNew);
      },
      unsubscribed: ({ holder, clientId, topic }) => {
        if (!this.#isOwn(clientId) && this.#isSeen(holder)) this.#release(topic);
      },
    };
  }

  *scan(): SlicedTask<void> {
    const { registry, store } = this.#options;
    for (const connection of registry.open) {
      if (this.#isClosed) return;
      const { identity, session } = connection;
      if (identity && !session && !this.#isOwn(identity.clientId) && !this.#isSeen(connection)) this.#see(connection);
      yield;
    }
    for (const session of store.sessions.all()) {
      if (this.#isClosed) return;
      if (!this.#isOwn(session.id) && !this.#isSeen(session)) this.#see(session);
      yield;
    }
    this.#seen = null;
  }

  has(filter: string): boolean {
    return this.#uses.has(filter);
  }

  /** All filters with the last requested QoS. Changes during the iteration are included. */
  *all(): Generator<[filter: string, qos: 0 | 1 | 2]> {
    for (const [filter, use] of this.#uses) yield [filter, qosOf(use)];
  }

  close(): void {
    const { store } = this.#options;
    this.#isClosed = true;
    store.subscriptions.listener = null;
    this.#uses.clear();
  }

  #isOwn(clientId: string): boolean {
    return clientId.startsWith(this.#options.ownClientIds);
  }

  #isSeen(holder: SubscriptionHolder): boolean {
    return this.#seen?.has(holder) ?? true;
  }

  #see(holder: SubscriptionHolder): void {
    this.#seen?.add(holder);
    for (const [filter, { qos }] of holder.subscriptions) this.#use(filter, qos, true);
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

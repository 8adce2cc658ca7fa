import type { Client } from 'aedes';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { subscriptionsOf } from '../core/aedes-internals.ts';
import type { BrokerCore } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import type { Session } from '../store/session.ts';
import type { SessionStore } from '../store/session-store.ts';

export interface SubscribedFiltersOptions {
  readonly core: Pick<BrokerCore, 'transientSubscriptionListener'>;
  readonly registry: Pick<ClientRegistry, 'open'>;
  readonly sessions: SessionStore;
  /** Clients that begin with it are nobody: this service itself. */
  readonly ownClientIds: string;
  /** Somebody subscribed, or was found to have it. */
  readonly onUse: (filter: string, qos: 0 | 1 | 2) => void;
  /** The last one who had it has it no more. */
  readonly onRelease: (filter: string) => void;
}

/**
 * The topic filters that somebody has: sessions, connected or not, and clients whose session ends with the connection. Counted from when
 * it is made until it is closed, at nobody's cost before.
 *
 * Holders are looked at one by one, all of a holder's filters in one piece, by `look` or when something becomes of their subscriptions;
 * so what happens before `look` is done counts once, too.
 */
export class SubscribedFilters {
  readonly #options: SubscribedFiltersOptions;
  /** How many have it, times four, and the QoS that was asked for last. */
  readonly #held = new Map<string, number>();
  readonly #brief = new Map<Client, Set<string>>();
  /** Null: all were. */
  #sessionsSeen: Set<Session> | null = new Set();
  #isClosed = false;

  constructor(options: SubscribedFiltersOptions) {
    this.#options = options;
    options.sessions.subscriptionListener = {
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
        const filters = this.#brief.get(client);
        if (!filters) this.#seeClient(client);
        else {
          for (const { topic, qos } of subscriptions) {
            this.#use(topic, qos, !filters.has(topic));
            filters.add(topic);
          }
        }
      },
      unsubscribed: (client, filter) => {
        const filters = this.#brief.get(client);
        if (!filters?.delete(filter)) return;
        if (filters.size === 0) this.#brief.delete(client);
        this.#release(filter);
      },
    };
  }

  /** Whom it began with. Ends when this is closed. */
  *look(): SlicedTask<void> {
    const { registry, sessions } = this.#options;
    for (const { client, identity } of registry.open) {
      if (this.#isClosed) return;
      if (!client || !identity || !client.clean || client.closed || this.#isOwn(client.id)) continue;
      if (!this.#brief.has(client)) this.#seeClient(client);
      yield;
    }
    for (const session of sessions.all()) {
      if (this.#isClosed) return;
      if (!this.#isOwn(session.id) && !this.#isSeen(session)) this.#seeSession(session);
      yield;
    }
    this.#sessionsSeen = null;
  }

  has(filter: string): boolean {
    return this.#held.has(filter);
  }

  /** With the QoS that was asked for last. They may change meanwhile. */
  *all(): Generator<[filter: string, qos: 0 | 1 | 2]> {
    for (const [filter, held] of this.#held) yield [filter, qosOf(held)];
  }

  close(): void {
    const { sessions, core } = this.#options;
    this.#isClosed = true;
    sessions.subscriptionListener = null;
    core.transientSubscriptionListener = null;
    this.#held.clear();
    this.#brief.clear();
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
    if (filters.length > 0) this.#brief.set(client, new Set(filters));
    for (const filter of filters) this.#use(filter, subscriptions[filter]?.qos ?? 0, true);
  }

  #use(filter: string, qos: 0 | 1 | 2, isNew: boolean): void {
    const count = countOf(this.#held.get(filter) ?? 0);
    this.#held.set(filter, (isNew ? count + 1 : count) * 4 + qos);
    this.#options.onUse(filter, qos);
  }

  #release(filter: string): void {
    const held = this.#held.get(filter);
    if (held === undefined) return;
    if (countOf(held) > 1) {
      this.#held.set(filter, held - 4);
      return;
    }
    this.#held.delete(filter);
    this.#options.onRelease(filter);
  }
}

const countOf = (held: number): number => held >>> 2;

// What `#use` put there.
const qosOf = (held: number) => (held & 3) as 0 | 1 | 2;

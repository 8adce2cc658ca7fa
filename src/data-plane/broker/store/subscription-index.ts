import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';
import { MemberRing, type SharedGroup, type Subscription, type SubscriptionHolder } from './subscription.ts';

/** A client that gets a message: by one subscription, or once for several that overlap. */
export interface Recipient {
  readonly holder: SubscriptionHolder;
  readonly clientId: string;
  /** The highest QoS of the matching subscriptions [MQTT-3.3.4-2]. */
  readonly qos: 0 | 1 | 2;
  /** Whether one of them has Retain As Published. */
  readonly keepsRetain: boolean;
  /** Identifiers of all matching subscriptions [MQTT-3.3.4-4]; `null` if there are none. */
  readonly identifiers: readonly number[] | null;
  /** `null` if the subscriptions are not shared. */
  readonly group: SharedGroup | null;
}

interface Match {
  readonly recipients: readonly Recipient[];
  readonly groups: readonly SharedGroup[];
}

interface CachedMatch extends Match {
  /** Whether the recipients depend on the publisher, because a subscription has No Local. */
  readonly hasNoLocal: boolean;
}

interface SubscriptionListener {
  /** `isNew`: the client had no subscription with this filter. */
  subscribed(subscription: Subscription, isNew: boolean): void;
  unsubscribed(subscription: Subscription): void;
}

/** Topics, and recipients of all of them, that are remembered until a subscription changes. */
const MAX_CACHED = 1_000;
const MAX_CACHED_RECIPIENTS = 20_000;

/** The subscriptions of all sessions, and of connected clients without a session. */
export class SubscriptionIndex {
  readonly #tree = new FilterTree<Subscription>();
  readonly #groupTree = new FilterTree<SharedGroup>();
  readonly #groups = new Map<string, SharedGroup>();
  readonly #cache = new Map<string, CachedMatch>();
  #cachedRecipients = 0;
  /** Number of subscriptions that are not shared, and of those that are. */
  count = 0;
  sharedCount = 0;
  listener: SubscriptionListener | null = null;

  /** `previous`: the subscription of the same client and filter, which this one replaces. */
  add(subscription: Subscription, previous?: Subscription): void {
    this.#forget();
    if (previous) this.#unlink(previous);
    this.#link(subscription);
    if (!previous) this.#countOf(subscription, 1);
    this.listener?.subscribed(subscription, previous === undefined);
  }

  remove(subscription: Subscription): void {
    this.#forget();
    this.#unlink(subscription);
    this.#countOf(subscription, -1);
    this.listener?.unsubscribed(subscription);
  }

  #link(subscription: Subscription): void {
    const { topic: filter } = subscription;
    if (!isShared(filter)) {
      this.#tree.add(filter, subscription);
      return;
    }
    let group = this.#groups.get(filter);
    if (!group) {
      group = { filter, online: new MemberRing(), offline: new MemberRing() };
      this.#groups.set(filter, group);
      this.#groupTree.add(filter, group);
    }
    ringOf(group, subscription).members.push(subscription);
  }

  /** Called when the client of the session has connected, or its connection has ended. */
  regroup({ subscriptions }: SubscriptionHolder): void {
    if (this.sharedCount === 0) return;
    for (const [filter, subscription] of subscriptions) {
      const group = isShared(filter) ? this.#groups.get(filter) : undefined;
      if (!group) continue;
      removeMember(group, subscription);
      ringOf(group, subscription).members.push(subscription);
    }
  }

  #unlink(subscription: Subscription): void {
    const { topic: filter } = subscription;
    if (!isShared(filter)) {
      this.#tree.remove(filter, subscription);
      return;
    }
    const group = this.#groups.get(filter);
    if (!group) return;
    removeMember(group, subscription);
    if (group.online.members.length + group.offline.members.length > 0) return;
    this.#groups.delete(filter);
    this.#groupTree.remove(filter, group);
  }

  #countOf({ topic: filter }: Subscription, change: 1 | -1): void {
    if (isShared(filter)) this.sharedCount += change;
    else this.count += change;
  }

  get groupCount(): number {
    return this.#groups.size;
  }

  /** `undefined` if no client has the shared subscription. */
  group(filter: string): SharedGroup | undefined {
    return this.#groups.get(filter);
  }

  /** Without the publisher where it has No Local [MQTT-3.8.3-3]. Of a group one member is chosen by the caller. */
  match(topic: string, publisherId: string | null): Match {
    let found = this.#cache.get(topic);
    if (found === undefined) {
      const subscriptions = this.#tree.match(topic);
      found = {
        recipients: recipientsOf(subscriptions, null),
        groups: this.#groups.size > 0 ? this.#groupTree.match(topic) : [],
        hasNoLocal: subscriptions.some(({ nl }) => nl === true),
      };
      this.#remember(topic, found);
    }
    if (!found.hasNoLocal) return found;
    return { recipients: recipientsOf(this.#tree.match(topic), publisherId), groups: found.groups };
  }

  /** Each subscription that matches the topic, with all members of shared subscriptions, in no order. */
  *matching(topic: string): Generator<Subscription> {
    yield* this.#tree.match(topic);
    for (const { online, offline } of this.#groupTree.match(topic)) {
      yield* online.members;
      yield* offline.members;
    }
  }

  #remember(topic: string, match: CachedMatch): void {
    const { length } = match.recipients;
    if (this.#cache.size >= MAX_CACHED || this.#cachedRecipients + length > MAX_CACHED_RECIPIENTS) this.#forget();
    this.#cache.set(topic, match);
    this.#cachedRecipients += length;
  }

  #forget(): void {
    if (this.#cache.size === 0) return;
    this.#cache.clear();
    this.#cachedRecipients = 0;
  }
}

const ringOf = ({ online, offline }: SharedGroup, { holder }: Subscription): MemberRing =>
  holder.isOnline ? online : offline;

function removeMember({ online, offline }: SharedGroup, member: Subscription): void {
  online.remove(member);
  offline.remove(member);
}

export const isShared = (filter: string): boolean => filter.startsWith('$share/');

/** The recipient of a message by a single subscription. */
export const recipientOf = (subscription: Subscription, group: SharedGroup | null): Recipient => {
  const { holder, clientId, qos, rap } = subscription;
  return { holder, clientId, qos, keepsRetain: rap === true, identifiers: identifiersOf(subscription), group };
};

/** The identifier of a single subscription. */
export const identifiersOf = ({ subscriptionIdentifier: identifier }: Subscription): readonly number[] | null =>
  identifier === undefined ? null : [identifier];

function recipientsOf(subscriptions: readonly Subscription[], publisherId: string | null): Recipient[] {
  const recipients: Recipient[] = [];
  /** Positions of the clients that may have further matching subscriptions. */
  let positions: Map<SubscriptionHolder, number> | null = null;
  for (const subscription of subscriptions) {
    const { holder, clientId, nl } = subscription;
    if (nl === true && clientId === publisherId) continue;
    const recipient = recipientOf(subscription, null);
    if (holder.subscriptions.size === 1) {
      recipients.push(recipient);
      continue;
    }
    positions ??= new Map();
    const position = positions.get(holder);
    const earlier = position === undefined ? undefined : recipients[position];
    if (position === undefined || earlier === undefined) {
      positions.set(holder, recipients.length);
      recipients.push(recipient);
    } else recipients[position] = joined(earlier, recipient);
  }
  return recipients;
}

function joined(one: Recipient, other: Recipient): Recipient {
  const identifiers =
    one.identifiers === null || other.identifiers === null
      ? (one.identifiers ?? other.identifiers)
      : [...one.identifiers, ...other.identifiers];
  const qos = Math.max(one.qos, other.qos) as 0 | 1 | 2;
  return { ...one, qos, keepsRetain: one.keepsRetain || other.keepsRetain, identifiers };
}

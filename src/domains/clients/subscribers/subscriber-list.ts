import type { ClientRef } from '../inspect/client-key.ts';

/** A subscription that matches a topic. */
export interface Subscriber extends ClientRef {
  /** The topic filter, with the share name of a shared subscription. */
  readonly filter: string;
  readonly qos: number;
  /** `false`: an offline persistent session, for which the broker queues messages of QoS 1 and 2. */
  readonly connected: boolean;
}

export interface SubscriberList {
  /** By client id, node and filter. At most MAX_SUBSCRIBERS. */
  readonly subscribers: readonly Subscriber[];
  /** Number of all subscriptions that match. */
  readonly totalCount: number;
  /** `false` if the provider may not know all of them. */
  readonly complete: boolean;
}

export const MAX_SUBSCRIBERS = 1_000;

/** Collects the first of many subscribers in the order of a list. Keeps at most twice as many as are wanted. */
export class FirstSubscribers {
  readonly #wanted: number;
  #kept: Subscriber[] = [];
  /** The last one that is wanted, as far as known. */
  #last: Subscriber | undefined;
  #totalCount = 0;

  constructor(wanted: number) {
    this.#wanted = Math.min(wanted, MAX_SUBSCRIBERS);
  }

  add(subscriber: Subscriber): void {
    this.#totalCount += 1;
    if (this.#last !== undefined && inOrder(subscriber, this.#last) > 0) return;
    this.#kept.push(subscriber);
    if (this.#kept.length >= 2 * this.#wanted) this.#cut();
  }

  /** `uncounted`: number of further matching subscriptions that were not added. */
  list(complete: boolean, uncounted = 0): SubscriberList {
    this.#cut();
    return { subscribers: this.#kept, totalCount: this.#totalCount + uncounted, complete };
  }

  #cut(): void {
    this.#kept = this.#kept.sort(inOrder).slice(0, this.#wanted);
    if (this.#kept.length === this.#wanted) this.#last = this.#kept.at(-1);
  }
}

const inOrder = (a: Subscriber, b: Subscriber): number =>
  byText(a.clientid, b.clientid) || (a.node ?? 0) - (b.node ?? 0) || byText(a.filter, b.filter);

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

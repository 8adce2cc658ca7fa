import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import { FirstItems } from '../../../platform/sorting/first-items.ts';
import type { ClientRef } from './client-key.ts';

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

/** Collects the first of many subscribers, and counts all. */
export class FirstSubscribers {
  readonly #first: FirstItems<Subscriber>;
  #totalCount = 0;

  /** `wanted` is at least 1. */
  constructor(wanted: number) {
    this.#first = new FirstItems(Math.min(wanted, MAX_SUBSCRIBERS), inOrder);
  }

  add(subscriber: Subscriber): void {
    this.#totalCount += 1;
    this.#first.add(subscriber);
  }

  /** `uncounted`: number of further matching subscriptions that were not added. */
  list(complete: boolean, uncounted = 0): SubscriberList {
    return { subscribers: this.#first.sorted(), totalCount: this.#totalCount + uncounted, complete };
  }
}

const inOrder = (a: Subscriber, b: Subscriber): number =>
  byCodeUnits(a.clientid, b.clientid) || (a.node ?? 0) - (b.node ?? 0) || byCodeUnits(a.filter, b.filter);

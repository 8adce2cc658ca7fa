import { createHash } from 'node:crypto';
import { ServiceError } from '../../platform/errors.ts';
import type { BrokerMessage, SubscribeOptions } from './broker-session.ts';
import { FilterTree } from './filter-tree.ts';

export type MessageListener = (message: BrokerMessage) => void;

interface Subscriber {
  listener: MessageListener;
  readonly options: SubscribeOptions;
  /** Number of the listener's first SUBSCRIBE. Retained messages of earlier ones are not delivered to it. */
  since: number;
}

export interface SharedFilter {
  readonly filter: string;
  qos: 0 | 1 | 2;
  retained: boolean;
  /** Of the last subscriber. */
  options: Pick<SubscribeOptions, 'noLocal' | 'retainAsPublished' | 'retainedOnce'>;
  isGranted: boolean;
  /** An array, because most filters have one: an empty set takes three times the memory. */
  subscribers: readonly Subscriber[];
  /** Numbers of its SUBSCRIBE packets; the last one is the newest. */
  numbers: readonly number[];
}

interface SubscriptionsOptions {
  readonly isLasting?: boolean;
  /**
   * If set, messages for a filter without a subscriber are delivered to matching filters. Called with the topic if this
   * process never subscribed the filter.
   */
  readonly onStray?: ((topic: string) => void) | undefined;
}

/** Numbers stored per filter: queued messages may have the number of an earlier SUBSCRIBE. */
const MAX_NUMBERS = 16;
/** Largest subscription identifier that MQTT 5 can carry. */
const LARGEST_NUMBER = 268_435_455;
/** Stored numbers of unsubscribed filters, which identify late messages for filters of this process. */
const MAX_UNSUBSCRIBED = 1_000;

/**
 * The subscribed filters of one link and their listeners.
 *
 * Each SUBSCRIBE has a number, which MQTT 5 brokers return with every message (subscription identifier): a message is
 * dispatched to the filters it was sent for, although the broker may send it once per overlapping filter. Retained
 * messages, which a broker sends for every SUBSCRIBE, are only delivered to listeners that joined with it. Without
 * identifiers (MQTT 3.1.1) all matching filters get a message.
 *
 * With `isLasting` the number is a hash of the filter: messages that were queued for an earlier process have its
 * numbers and must not be dispatched to other filters.
 */
export class Subscriptions {
  readonly #filters = new Map<string, SharedFilter>();
  readonly #byNumber = new Map<number, SharedFilter>();
  /** Exists since the first message without an identifier: with MQTT 5 it would be the most of what a link takes. */
  #tree: FilterTree<SharedFilter> | null = null;
  readonly #onFault: (error: unknown) => void;
  readonly #isLasting: boolean;
  readonly #onStray: ((topic: string) => void) | undefined;
  readonly #unsubscribed = new Set<number>();
  #lastNumber = 0;

  constructor(onFault: (error: unknown) => void, { isLasting = false, onStray }: SubscriptionsOptions = {}) {
    this.#onFault = onFault;
    this.#isLasting = isLasting;
    this.#onStray = onStray;
  }

  get size(): number {
    return this.#filters.size;
  }

  has(filter: string): boolean {
    return this.#filters.has(filter);
  }

  filters(): SharedFilter[] {
    return [...this.#filters.values()];
  }

  /** The caller then sends SUBSCRIBE with the number of `renumber`. */
  add(filter: string, listener: MessageListener, options: SubscribeOptions): readonly [SharedFilter, Subscriber] {
    const { qos = 0, retained = true } = options;
    const shared = this.#filters.get(filter) ?? this.#create(filter, qos);
    if (qos > shared.qos) shared.qos = qos;
    if (retained) shared.retained = true;
    shared.options = options;
    const subscriber: Subscriber = { listener, options, since: Number.POSITIVE_INFINITY };
    shared.subscribers = shared.subscribers.concat(subscriber);
    return [shared, subscriber];
  }

  /** Returns whether the caller must unsubscribe the filter. */
  remove(shared: SharedFilter, subscriber: Subscriber): boolean {
    if (!shared.subscribers.includes(subscriber)) return false;
    shared.subscribers = shared.subscribers.filter((other) => other !== subscriber);
    // A message is possibly being delivered to the filter.
    subscriber.listener = () => undefined;
    if (shared.subscribers.length > 0) return false;
    this.#removeFilter(shared);
    return true;
  }

  /** Returns the number for the next SUBSCRIBE. After a reconnect all listeners receive its retained messages. */
  renumber(shared: SharedFilter, isReconnect: boolean): number {
    const number = this.#isLasting ? this.#numberOf(shared) : this.#next(this.#lastNumber);
    this.#lastNumber = number;
    this.#unsubscribed.delete(number);
    // `push` and spreading allocate for 17 numbers, and most filters have one.
    if (!shared.numbers.includes(number)) shared.numbers = shared.numbers.concat(number);
    this.#byNumber.set(number, shared);
    if (shared.numbers.length > MAX_NUMBERS) {
      this.#byNumber.delete(shared.numbers[0] ?? 0);
      shared.numbers = shared.numbers.slice(1);
    }
    for (const subscriber of shared.subscribers) {
      if (isReconnect || subscriber.since === Number.POSITIVE_INFINITY) subscriber.since = number;
    }
    return number;
  }

  /** Returns whether the filter that the message was sent for has, or had, a listener. */
  dispatch(message: BrokerMessage, identifiers: number | readonly number[] | undefined): boolean {
    if (identifiers === undefined) return this.#dispatchToMatching(message);
    if (typeof identifiers === 'number') {
      if (this.#dispatchToNumber(message, identifiers)) return true;
    } else {
      let isDelivered = false;
      for (const number of new Set(identifiers)) isDelivered = this.#dispatchToNumber(message, number) || isDelivered;
      if (isDelivered) return true;
    }
    const isKnown = [identifiers].flat().some((number) => this.#unsubscribed.has(number));
    if (this.#onStray === undefined || !this.#dispatchToMatching(message)) return isKnown;
    if (!isKnown) this.#onStray(message.topic);
    return true;
  }

  refused(shared: SharedFilter, error: unknown): void {
    if (!(error instanceof ServiceError) || (error.code !== 'NOT_ALLOWED' && error.code !== 'BROKER_REJECTED')) return;
    for (const { options } of shared.subscribers) {
      try {
        options.onRefused?.(error, shared.filter);
      } catch (fault) {
        this.#onFault(fault);
      }
    }
  }

  #dispatchToNumber(message: BrokerMessage, number: number): boolean {
    const shared = this.#byNumber.get(number);
    if (shared) this.#deliver(shared, message, number);
    return shared !== undefined;
  }

  #dispatchToMatching(message: BrokerMessage): boolean {
    this.#tree ??= this.#newTree();
    const matching = this.#tree.match(message.topic);
    for (const shared of matching) this.#deliver(shared, message, 0);
    return matching.length > 0;
  }

  #deliver(shared: SharedFilter, message: BrokerMessage, number: number): void {
    for (const { listener, options, since } of shared.subscribers) {
      // With Retain As Published a live message may have RETAIN, and Retain Handling 2 excludes retained messages.
      const isUnwanted = options.retained === false && !shared.options.retainAsPublished;
      if (message.retain && (isUnwanted || since < number)) continue;
      try {
        listener(message);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  #create(filter: string, qos: 0 | 1 | 2): SharedFilter {
    const shared: SharedFilter = {
      filter,
      qos,
      retained: false,
      options: {},
      isGranted: false,
      subscribers: [],
      numbers: [],
    };
    this.#filters.set(filter, shared);
    this.#tree?.add(filter, shared);
    return shared;
  }

  #newTree(): FilterTree<SharedFilter> {
    const tree = new FilterTree<SharedFilter>();
    for (const [filter, shared] of this.#filters) tree.add(filter, shared);
    return tree;
  }

  #removeFilter(shared: SharedFilter): void {
    this.#filters.delete(shared.filter);
    this.#tree?.remove(shared.filter, shared);
    for (const number of shared.numbers) {
      this.#byNumber.delete(number);
      this.#unsubscribed.add(number);
    }
    for (const oldest of this.#unsubscribed) {
      if (this.#unsubscribed.size <= MAX_UNSUBSCRIBED) break;
      this.#unsubscribed.delete(oldest);
    }
  }

  #next = (number: number): number => (number % LARGEST_NUMBER) + 1;

  #numberOf(shared: SharedFilter): number {
    let number = this.#next(createHash('sha256').update(shared.filter).digest().readUInt32BE());
    while ((this.#byNumber.get(number) ?? shared) !== shared) number = this.#next(number);
    return number;
  }
}

import { createHash } from 'node:crypto';
import { ServiceError } from '../../platform/errors.ts';
import type { BrokerMessage, SubscribeOptions } from './broker-session.ts';
import { FilterTree } from './filter-tree.ts';

export type MessageListener = (message: BrokerMessage) => void;

interface Listening {
  readonly listener: MessageListener;
  readonly onRefused: SubscribeOptions['onRefused'];
  readonly retained: boolean;
  /** Number of the SUBSCRIBE that this listener waits for: retained messages of earlier ones are not for it. */
  since: number;
}

export interface SharedFilter {
  readonly filter: string;
  qos: 0 | 1 | 2;
  retained: boolean;
  /** As its last subscriber asks. */
  noLocal: boolean;
  retainAsPublished: boolean;
  retainedOnce: boolean;
  /** The session has it, as far as this link knows. */
  isGranted: boolean;
  readonly listeners: Set<Listening>;
  /** Numbers of its SUBSCRIBE packets, newest last. */
  readonly numbers: number[];
}

export interface SubscriptionsOptions {
  /** See Subscriptions. */
  readonly lasting?: boolean;
  /**
   * Messages that were sent for filters that are not subscribed any more go to those that match. Told of each that was sent for one which
   * was never subscribed here.
   */
  readonly onStray?: ((topic: string) => void) | undefined;
}

/** Queued messages may carry the number of an earlier SUBSCRIBE of their filter; older ones than this many are dropped. */
const NUMBERS_KEPT = 16;
/** Largest subscription identifier that MQTT 5 can carry. */
const LARGEST_NUMBER = 268_435_455;
/** Of filters that were given up; messages that are on their way yet are told from those for an earlier process's filters. */
const GIVEN_UP_KEPT = 1_000;

/**
 * The filters that one link keeps subscribed, their listeners, and the way of a message to them.
 *
 * Each SUBSCRIBE has a number of its own which MQTT 5 brokers send back with every message (subscription identifier). It is
 * used twice: a message goes straight to the filters it was sent for, so that overlapping filters hear it once each although
 * the broker may send it twice; and retained messages, which a broker sends again for every SUBSCRIBE, reach only listeners
 * that joined with that SUBSCRIBE. Without identifiers (MQTT 3.1.1) messages go to all filters that match.
 *
 * Where the session outlives this process (`lasting`) a filter's number comes from the filter itself: messages that were sent for
 * the process before carry its numbers, and must not go to other filters.
 */
export class Subscriptions {
  readonly #filters = new Map<string, SharedFilter>();
  readonly #byNumber = new Map<number, SharedFilter>();
  readonly #tree = new FilterTree<SharedFilter>();
  readonly #onFault: (error: unknown) => void;
  readonly #lasting: boolean;
  readonly #onStray: ((topic: string) => void) | undefined;
  readonly #givenUp = new Set<number>();
  #lastNumber = 0;

  constructor(onFault: (error: unknown) => void, { lasting = false, onStray }: SubscriptionsOptions = {}) {
    this.#onFault = onFault;
    this.#lasting = lasting;
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

  /** Adds a listener; the filter has to be subscribed (again) with the number of `renumber`. */
  add(
    filter: string,
    listener: MessageListener,
    options: SubscribeOptions,
  ): { readonly shared: SharedFilter; remove(): boolean } {
    const { qos = 0, retained = true, onRefused } = options;
    const shared = this.#filters.get(filter) ?? this.#create(filter, qos);
    if (qos > shared.qos) shared.qos = qos;
    if (retained) shared.retained = true;
    shared.noLocal = options.noLocal === true;
    shared.retainAsPublished = options.retainAsPublished === true;
    shared.retainedOnce = options.retainedOnce === true;
    const listening: Listening = { listener, onRefused, retained, since: Number.POSITIVE_INFINITY };
    shared.listeners.add(listening);
    return {
      shared,
      /** True when this was the last one: the filter is to be unsubscribed. */
      remove: () => {
        if (!shared.listeners.delete(listening) || shared.listeners.size > 0) return false;
        this.#forget(shared);
        return true;
      },
    };
  }

  /** The number of the next SUBSCRIBE of this filter. `everybody`: after a reconnect, when all want the retained messages. */
  renumber(shared: SharedFilter, everybody: boolean): number {
    const number = this.#lasting ? this.#numberOf(shared) : this.#next(this.#lastNumber);
    this.#lastNumber = number;
    this.#givenUp.delete(number);
    if (!shared.numbers.includes(number)) shared.numbers.push(number);
    this.#byNumber.set(number, shared);
    if (shared.numbers.length > NUMBERS_KEPT) this.#byNumber.delete(shared.numbers.shift() ?? 0);
    for (const listening of shared.listeners) {
      if (everybody || listening.since === Number.POSITIVE_INFINITY) listening.since = number;
    }
    return number;
  }

  /** False: nobody listened to the filter that the broker sent it for. */
  dispatch(message: BrokerMessage, identifiers: number | readonly number[] | undefined): boolean {
    if (identifiers === undefined) return this.#tellMatching(message);
    if (typeof identifiers === 'number') {
      if (this.#tellNumbered(message, identifiers)) return true;
    } else {
      let isTold = false;
      for (const number of new Set(identifiers)) isTold = this.#tellNumbered(message, number) || isTold;
      if (isTold) return true;
    }
    const isKnown = [identifiers].flat().some((number) => this.#givenUp.has(number));
    if (this.#onStray === undefined || !this.#tellMatching(message)) return isKnown;
    if (!isKnown) this.#onStray(message.topic);
    return true;
  }

  /** A SUBSCRIBE after a reconnect failed. One that got no answer says nothing about the filter. */
  refused(shared: SharedFilter, error: unknown): void {
    if (!(error instanceof ServiceError) || (error.code !== 'NOT_ALLOWED' && error.code !== 'BROKER_REJECTED')) return;
    for (const { onRefused } of [...shared.listeners]) {
      try {
        onRefused?.(error);
      } catch (fault) {
        this.#onFault(fault);
      }
    }
  }

  #tellNumbered(message: BrokerMessage, number: number): boolean {
    const shared = this.#byNumber.get(number);
    if (shared) this.#tell(shared, message, number);
    return shared !== undefined;
  }

  #tellMatching(message: BrokerMessage): boolean {
    const matching = this.#tree.match(message.topic);
    for (const shared of matching) this.#tell(shared, message, 0);
    return matching.length > 0;
  }

  #tell(shared: SharedFilter, message: BrokerMessage, number: number): void {
    for (const { listener, retained, since } of shared.listeners) {
      // With Retain As Published the flag is that of the message, and who keeps none sends none.
      if (message.retain && ((!retained && !shared.retainAsPublished) || since < number)) continue;
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
      noLocal: false,
      retainAsPublished: false,
      retainedOnce: false,
      isGranted: false,
      listeners: new Set(),
      numbers: [],
    };
    this.#filters.set(filter, shared);
    this.#tree.add(filter, shared);
    return shared;
  }

  #forget(shared: SharedFilter): void {
    this.#filters.delete(shared.filter);
    this.#tree.remove(shared.filter, shared);
    for (const number of shared.numbers) {
      this.#byNumber.delete(number);
      this.#givenUp.add(number);
    }
    for (const oldest of this.#givenUp) {
      if (this.#givenUp.size <= GIVEN_UP_KEPT) break;
      this.#givenUp.delete(oldest);
    }
  }

  #next = (number: number): number => (number % LARGEST_NUMBER) + 1;

  #numberOf(shared: SharedFilter): number {
    let number = this.#next(createHash('sha256').update(shared.filter).digest().readUInt32BE());
    while ((this.#byNumber.get(number) ?? shared) !== shared) number = this.#next(number);
    return number;
  }
}

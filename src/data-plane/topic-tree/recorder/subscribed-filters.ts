import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterCovers, filterMatches, filtersOverlap } from '../../../protocol/mqtt/filter-match.ts';
import { Copies } from './copies.ts';
import { LOG_FILTERS } from './subscription-log.ts';

interface SubscribedFiltersOptions {
  readonly link: BrokerLink;
  /**
   * Called once for each message. `mayBeRepeated`: it may be a retained message that another filter already received.
   */
  readonly onMessage: (message: BrokerMessage, mayBeRepeated: boolean) => void;
  /** Called when a filter was granted or refused, or when retained messages have been received. */
  readonly onChange: () => void;
  /** Interval of attempts to subscribe to refused filters, in milliseconds. */
  readonly refusedRetryMs: number;
}

export interface Refusal {
  /** Whether the broker refused the filter. If false, it did not respond. */
  readonly isDenied: boolean;
  /** Whether the broker reports that the account has no permission to subscribe. */
  readonly isRightMissing: boolean;
  readonly text: string;
  /** Whether the broker closes the connection because of this filter. */
  readonly endsConnection: boolean;
}

interface Subscription {
  readonly filter: string;
  readonly levels: readonly string[];
  /** Filters subscribed earlier that may match the same topics. A message belongs to the earliest matching one. */
  readonly earlier: readonly Subscription[];
  /** Whether retained messages may already have been received for overlapping filters. */
  readonly isRepeating: boolean;
  state: 'PENDING' | 'GRANTED' | 'ENDED';
  stop: Stop | null;
}

/** Number of connections that end while only this filter is unanswered, until the filter counts as the cause. */
const MAX_DISCONNECTS = 3;
/** Filters that end the connection are retried at every 20th attempt, because each attempt loses messages. */
const DISCONNECTING_RETRIES = 20;

/**
 * Keeps the filters of the log and the wanted ones subscribed over one link with QoS 0, also after a reconnect.
 * Retained messages are received once per filter. A filter that a granted filter covers is not subscribed. If filters
 * overlap, a message is counted once, for the earliest subscribed filter that matches its topic: with MQTT 5 by the
 * subscription identifier, otherwise see Copies.
 */
export class SubscribedFilters {
  readonly #options: SubscribedFiltersOptions;
  readonly #stopListening: Stop;
  readonly #retries: NodeJS.Timeout;
  #wanted: readonly string[] = [];
  readonly #subscriptions = new Map<string, Subscription>();
  readonly refusals = new Map<string, Refusal>();
  readonly #disconnects = new Map<string, number>();
  /** Filters whose retained messages have been received. */
  readonly #retainedReceived = new Set<string>();
  #copies = new Copies();
  #hasOverlaps = false;
  #numRetries = 0;
  /** Whether filters are subscribed one at a time, because a connection ended while several were unanswered. */
  #isCareful = false;
  /** Whether all possible filters are subscribed on this connection, and their retained messages received. */
  isSettled = false;
  #isPinging = false;
  #isClosed = false;

  constructor(options: SubscribedFiltersOptions) {
    this.#options = options;
    this.#stopListening = options.link.onStatus(({ state }) => {
      if (state === 'CONNECTED') this.#connected();
      else this.#disconnected();
    });
    this.#retries = setInterval(() => this.#retry(), options.refusedRetryMs);
    this.#retries.unref();
  }

  isGranted(filter: string): boolean {
    return this.#subscriptions.get(filter)?.state === 'GRANTED';
  }

  want(wanted: readonly string[]): void {
    this.#wanted = wanted;
    this.#reconcile();
    const all = new Set([...LOG_FILTERS, ...wanted]);
    for (const filters of [this.refusals, this.#disconnects, this.#retainedReceived])
      for (const filter of [...filters.keys()]) if (!all.has(filter)) filters.delete(filter);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#retries);
    this.#stopListening();
    this.#unsubscribeAll();
  }

  get #isConnected(): boolean {
    return this.#options.link.status.state === 'CONNECTED';
  }

  #connected(): void {
    this.#copies = new Copies();
    this.#reconcile();
    this.#retryRefused(({ endsConnection }) => !endsConnection);
  }

  #disconnected(): void {
    const unanswered = [...this.#subscriptions.values()].filter(({ state }) => state === 'PENDING');
    const [suspect] = unanswered;
    if (unanswered.length > 1) this.#isCareful = true;
    else if (suspect) this.#countDisconnect(suspect.filter);
    this.#unsubscribeAll();
  }

  #countDisconnect(filter: string): void {
    this.#isCareful = true;
    const disconnects = (this.#disconnects.get(filter) ?? 0) + 1;
    this.#disconnects.set(filter, disconnects);
    if (disconnects < MAX_DISCONNECTS) return;
    const text = `The broker ends the connection when "${filter}" is subscribed to.`;
    // If the broker refuses one log filter in this way, it refuses all, and each attempt costs a connection.
    for (const refused of isOfLog(filter) ? LOG_FILTERS : [filter]) {
      this.refusals.set(refused, { isDenied: true, isRightMissing: false, text, endsConnection: true });
    }
  }

  #unsubscribeAll(): void {
    for (const subscription of [...this.#subscriptions.values()]) this.#unsubscribe(subscription);
    this.isSettled = false;
  }

  #unsubscribe(subscription: Subscription): void {
    subscription.state = 'ENDED';
    subscription.stop?.();
    if (this.#subscriptions.get(subscription.filter) === subscription) this.#subscriptions.delete(subscription.filter);
  }

  #reconcile(): void {
    if (!this.#isConnected || this.#isClosed) return;
    const targets = this.#targets();
    for (const subscription of [...this.#subscriptions.values()])
      if (this.#isNeedless(subscription, targets)) this.#unsubscribe(subscription);
    for (const filter of targets) if (!this.#subscriptions.has(filter)) this.#subscribe(filter);
    this.#hasOverlaps = [...this.#subscriptions.values()].some(({ earlier }) =>
      earlier.some(({ state }) => state !== 'ENDED'),
    );
    this.#settle();
  }

  #targets(): string[] {
    const candidates = this.#wanted.filter((filter) => !this.refusals.has(filter));
    const uncovered = candidates.filter(
      (filter) => !candidates.some((other) => other !== filter && filterCovers(other, filter)),
    );
    return [...new Set([...LOG_FILTERS.filter((filter) => !this.refusals.has(filter)), ...uncovered])];
  }

  /** Whether a filter is no longer in the settings, or is covered by a granted filter. */
  #isNeedless({ filter, state }: Subscription, targets: readonly string[]): boolean {
    if (targets.includes(filter) || isOfLog(filter)) return false;
    if (!this.#wanted.includes(filter)) return true;
    return state === 'GRANTED' && targets.some((other) => this.isGranted(other) && filterCovers(other, filter));
  }

  #subscribe(filter: string): void {
    if (this.#isCareful && [...this.#subscriptions.values()].some(({ state }) => state === 'PENDING')) return;
    const { link } = this.#options;
    const levels = filter.split('/');
    const earlier = [...this.#subscriptions.values()].filter((other) => filtersOverlap(levels, other.levels));
    const isRepeating = [...this.#retainedReceived].some(
      (other) => other !== filter && filtersOverlap(levels, other.split('/')),
    );
    const subscription: Subscription = { filter, levels, earlier, isRepeating, state: 'PENDING', stop: null };
    this.#subscriptions.set(filter, subscription);
    this.isSettled = false;
    const options = {
      qos: 0,
      retained: !this.#retainedReceived.has(filter),
      retainAsPublished: link.protocolVersion === 5,
      onGranted: () => this.#granted(subscription),
    } as const;
    const listener = (message: BrokerMessage) => {
      if (this.#isFirst(subscription, message))
        this.#options.onMessage(message, message.retain && this.#mayBeRepeated(subscription));
    };
    link.subscribe(filter, listener, options).then(
      (stop) => {
        if (subscription.state === 'ENDED') stop();
        else subscription.stop = stop;
        this.#granted(subscription);
      },
      (error: unknown) => this.#refused(subscription, error),
    );
  }

  /** Without subscription identifiers, retained messages arrive for each filter. */
  #mayBeRepeated({ filter, isRepeating }: Subscription): boolean {
    return this.#options.link.protocolVersion === 4 || (isRepeating && !this.#retainedReceived.has(filter));
  }

  #granted(subscription: Subscription): void {
    if (subscription.state !== 'PENDING') return;
    subscription.state = 'GRANTED';
    this.refusals.delete(subscription.filter);
    this.#disconnects.delete(subscription.filter);
    this.#reconcile();
    this.#options.onChange();
  }

  #refused(subscription: Subscription, error: unknown): void {
    // The connection was lost, which is reported separately.
    if (subscription.state === 'ENDED') return;
    this.#unsubscribe(subscription);
    this.refusals.set(subscription.filter, refusalOf(error));
    this.#disconnects.delete(subscription.filter);
    this.#reconcile();
    this.#options.onChange();
  }

  #retry(): void {
    this.#numRetries += 1;
    const triesAll = this.#numRetries % DISCONNECTING_RETRIES === 0;
    this.#retryRefused(({ endsConnection }) => triesAll || !endsConnection);
  }

  #retryRefused(isTried: (refusal: Refusal) => boolean): void {
    if (!this.#isConnected) return;
    for (const [filter, refusal] of [...this.refusals]) {
      if (isTried(refusal) && !this.#subscriptions.has(filter)) this.#subscribe(filter);
    }
  }

  /** A broker sends packets in order. Its PINGRESP after all SUBSCRIBE packets follows their retained messages. */
  #settle(): void {
    if (this.isSettled || this.#isPinging || this.#subscriptions.size === 0 || !this.#areAllAnswered) {
      if (this.#subscriptions.size === 0 && this.refusals.size > 0) this.isSettled = true;
      return;
    }
    const subscriptions = [...this.#subscriptions.values()];
    this.#isPinging = true;
    this.#options.link.ping().then(
      () => {
        this.#isPinging = false;
        for (const { filter, state } of subscriptions) if (state === 'GRANTED') this.#retainedReceived.add(filter);
        this.isSettled =
          this.#areAllAnswered && subscriptions.every((one) => this.#subscriptions.get(one.filter) === one);
        if (!this.isSettled) this.#settle();
        this.#options.onChange();
      },
      () => {
        this.#isPinging = false;
      },
    );
  }

  get #areAllAnswered(): boolean {
    return ![...this.#subscriptions.values()].some(({ state }) => state === 'PENDING');
  }

  #isFirst({ earlier, filter }: Subscription, message: BrokerMessage): boolean {
    if (
      earlier.length > 0 &&
      earlier.some((one) => one.state === 'GRANTED' && filterMatches(one.filter, message.topic))
    )
      return false;
    if (!this.#hasOverlaps || message.retain || this.#options.link.protocolVersion === 5) return true;
    let matching = 0;
    for (const one of this.#subscriptions.values())
      if (one.filter === filter || filterMatches(one.filter, message.topic)) matching += 1;
    return !this.#copies.isCopy(message.topic, message.payload, matching);
  }
}

const isOfLog = (filter: string): boolean => LOG_FILTERS.some((one) => one === filter);

function refusalOf(error: unknown): Refusal {
  const { code, message } =
    error instanceof ServiceError ? error : { code: null, message: 'The broker could not be asked for a subscription' };
  const isRightMissing = code === 'NOT_ALLOWED';
  return {
    isDenied: isRightMissing || code === 'BROKER_REJECTED',
    isRightMissing,
    text: message,
    endsConnection: false,
  };
}

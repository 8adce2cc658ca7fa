import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterCovers, filterMatches, filtersOverlap } from '../../../protocol/mqtt/filter-match.ts';
import { Copies } from './copies.ts';

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

interface Asked {
  readonly filter: string;
  readonly levels: readonly string[];
  /** Filters subscribed earlier that may match the same topics. A message belongs to the earliest matching one. */
  readonly earlier: readonly Asked[];
  /** Whether retained messages may already have been received for overlapping filters. */
  readonly isRepeating: boolean;
  state: 'ASKED' | 'GRANTED' | 'OVER';
  stop: Stop | null;
}

/** Number of connections that end while only this filter is unanswered, until the filter counts as the cause. */
const MOST_STRIKES = 3;
/** Such filters are retried only at every 20th attempt, because each attempt costs messages. */
const ENDING_TURNS = 20;

/**
 * Keeps filters subscribed over one link with QoS 0, also after a reconnect. Retained messages are received once per
 * filter. A filter that a granted filter covers is not subscribed. If filters overlap, a message is counted once, for
 * the earliest subscribed filter that matches its topic: with MQTT 5 by the subscription identifier, otherwise see
 * Copies.
 */
export class SubscribedFilters {
  readonly #options: SubscribedFiltersOptions;
  readonly #stopListening: Stop;
  readonly #retries: NodeJS.Timeout;
  /** Filters of the log, which are subscribed first. */
  #apart: readonly string[] = [];
  #wanted: readonly string[] = [];
  readonly #asked = new Map<string, Asked>();
  readonly refusals = new Map<string, Refusal>();
  readonly #strikes = new Map<string, number>();
  /** Filters whose retained messages have been received. */
  readonly #flooded = new Set<string>();
  #copies = new Copies();
  #hasOverlaps = false;
  #turn = 0;
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
    return this.#asked.get(filter)?.state === 'GRANTED';
  }

  want(apart: readonly string[], wanted: readonly string[]): void {
    this.#apart = apart;
    this.#wanted = wanted;
    this.#reconcile();
    const all = new Set([...apart, ...wanted]);
    for (const filters of [this.refusals, this.#strikes, this.#flooded])
      for (const filter of [...filters.keys()]) if (!all.has(filter)) filters.delete(filter);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#retries);
    this.#stopListening();
    this.#forgetAll();
  }

  get #isConnected(): boolean {
    return this.#options.link.status.state === 'CONNECTED';
  }

  #connected(): void {
    this.#copies = new Copies();
    this.#reconcile();
    this.#askRefused(({ endsConnection }) => !endsConnection);
  }

  #disconnected(): void {
    const unanswered = [...this.#asked.values()].filter(({ state }) => state === 'ASKED');
    const [suspect] = unanswered;
    if (unanswered.length > 1) this.#isCareful = true;
    else if (suspect) this.#strike(suspect.filter);
    this.#forgetAll();
  }

  #strike(filter: string): void {
    this.#isCareful = true;
    const strikes = (this.#strikes.get(filter) ?? 0) + 1;
    this.#strikes.set(filter, strikes);
    if (strikes < MOST_STRIKES) return;
    const text = `The broker ends the connection when "${filter}" is subscribed to.`;
    // If the broker refuses one log filter in this way, it refuses all, and each attempt costs a connection.
    for (const refused of this.#apart.includes(filter) ? this.#apart : [filter]) {
      this.refusals.set(refused, { isDenied: true, isRightMissing: false, text, endsConnection: true });
    }
  }

  #forgetAll(): void {
    for (const asked of [...this.#asked.values()]) this.#forget(asked);
    this.isSettled = false;
  }

  #forget(asked: Asked): void {
    asked.state = 'OVER';
    asked.stop?.();
    if (this.#asked.get(asked.filter) === asked) this.#asked.delete(asked.filter);
  }

  #reconcile(): void {
    if (!this.#isConnected || this.#isClosed) return;
    const targets = this.#targets();
    for (const asked of [...this.#asked.values()]) if (this.#isNeedless(asked, targets)) this.#forget(asked);
    for (const filter of targets) if (!this.#asked.has(filter)) this.#ask(filter);
    this.#hasOverlaps = [...this.#asked.values()].some(({ earlier }) => earlier.some(({ state }) => state !== 'OVER'));
    this.#settle();
  }

  #targets(): string[] {
    const candidates = this.#wanted.filter((filter) => !this.refusals.has(filter));
    const uncovered = candidates.filter(
      (filter) => !candidates.some((other) => other !== filter && filterCovers(other, filter)),
    );
    return [...new Set([...this.#apart.filter((filter) => !this.refusals.has(filter)), ...uncovered])];
  }

  /** Whether a filter is no longer in the settings, or is covered by a granted filter. */
  #isNeedless({ filter, state }: Asked, targets: readonly string[]): boolean {
    if (targets.includes(filter) || this.#apart.includes(filter)) return false;
    if (!this.#wanted.includes(filter)) return true;
    return state === 'GRANTED' && targets.some((other) => this.isGranted(other) && filterCovers(other, filter));
  }

  #ask(filter: string): void {
    if (this.#isCareful && [...this.#asked.values()].some(({ state }) => state === 'ASKED')) return;
    const { link } = this.#options;
    const levels = filter.split('/');
    const earlier = [...this.#asked.values()].filter((other) => filtersOverlap(levels, other.levels));
    const isRepeating = [...this.#flooded].some(
      (other) => other !== filter && filtersOverlap(levels, other.split('/')),
    );
    const asked: Asked = { filter, levels, earlier, isRepeating, state: 'ASKED', stop: null };
    this.#asked.set(filter, asked);
    this.isSettled = false;
    const options = {
      qos: 0,
      retained: !this.#flooded.has(filter),
      retainAsPublished: link.protocolVersion === 5,
      onGranted: () => this.#granted(asked),
    } as const;
    const listener = (message: BrokerMessage) => {
      if (this.#isFirst(asked, message)) this.#options.onMessage(message, message.retain && this.#mayBeRepeated(asked));
    };
    link.subscribe(filter, listener, options).then(
      (stop) => {
        if (asked.state === 'OVER') stop();
        else asked.stop = stop;
        this.#granted(asked);
      },
      (error: unknown) => this.#refused(asked, error),
    );
  }

  /** Without subscription identifiers, retained messages arrive for each filter. */
  #mayBeRepeated({ filter, isRepeating }: Asked): boolean {
    return this.#options.link.protocolVersion === 4 || (isRepeating && !this.#flooded.has(filter));
  }

  #granted(asked: Asked): void {
    if (asked.state !== 'ASKED') return;
    asked.state = 'GRANTED';
    this.refusals.delete(asked.filter);
    this.#strikes.delete(asked.filter);
    this.#reconcile();
    this.#options.onChange();
  }

  #refused(asked: Asked, error: unknown): void {
    // The connection was lost, which is reported separately.
    if (asked.state === 'OVER') return;
    this.#forget(asked);
    this.refusals.set(asked.filter, refusalOf(error));
    this.#strikes.delete(asked.filter);
    this.#reconcile();
    this.#options.onChange();
  }

  #retry(): void {
    this.#turn += 1;
    const triesAll = this.#turn % ENDING_TURNS === 0;
    this.#askRefused(({ endsConnection }) => triesAll || !endsConnection);
  }

  #askRefused(isTried: (refusal: Refusal) => boolean): void {
    if (!this.#isConnected) return;
    for (const [filter, refusal] of [...this.refusals]) {
      if (isTried(refusal) && !this.#asked.has(filter)) this.#ask(filter);
    }
  }

  /** A broker sends packets in order. Its PINGRESP after all SUBSCRIBE packets follows their retained messages. */
  #settle(): void {
    if (this.isSettled || this.#isPinging || this.#asked.size === 0 || !this.#hasAnswers) {
      if (this.#asked.size === 0 && this.refusals.size > 0) this.isSettled = true;
      return;
    }
    const asked = [...this.#asked.values()];
    this.#isPinging = true;
    this.#options.link.ping().then(
      () => {
        this.#isPinging = false;
        for (const { filter, state } of asked) if (state === 'GRANTED') this.#flooded.add(filter);
        this.isSettled = this.#hasAnswers && asked.every((one) => this.#asked.get(one.filter) === one);
        if (!this.isSettled) this.#settle();
        this.#options.onChange();
      },
      () => {
        this.#isPinging = false;
      },
    );
  }

  get #hasAnswers(): boolean {
    return ![...this.#asked.values()].some(({ state }) => state === 'ASKED');
  }

  #isFirst({ earlier, filter }: Asked, message: BrokerMessage): boolean {
    if (
      earlier.length > 0 &&
      earlier.some((one) => one.state === 'GRANTED' && filterMatches(one.filter, message.topic))
    )
      return false;
    if (!this.#hasOverlaps || message.retain || this.#options.link.protocolVersion === 5) return true;
    let matching = 0;
    for (const one of this.#asked.values())
      if (one.filter === filter || filterMatches(one.filter, message.topic)) matching += 1;
    return !this.#copies.isCopy(message.topic, message.payload, matching);
  }
}

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

import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterCovers, filterMatches, filtersOverlap } from '../../../protocol/mqtt/filter-match.ts';
import { Copies } from './copies.ts';

export interface SubscribedFiltersOptions {
  readonly link: BrokerLink;
  /**
   * Of each message once, whatever filters it came for. `mayBeRepeated`: maybe the broker kept it, and has told it before for
   * another filter.
   */
  readonly onMessage: (message: BrokerMessage, mayBeRepeated: boolean) => void;
  /** Something was granted, refused or answered. */
  readonly onChange: () => void;
  /** Between attempts to subscribe to what was refused, in milliseconds. */
  readonly refusedRetryMs: number;
}

export interface Refusal {
  /** False: there was no answer. */
  readonly isDenied: boolean;
  /** The broker says that the account may not subscribe to it. */
  readonly isRightMissing: boolean;
  /** For people. */
  readonly text: string;
  /** The broker ends the connection for it. */
  readonly endsConnection: boolean;
}

interface Asked {
  readonly filter: string;
  readonly levels: readonly string[];
  /** Those asked for before it that may match the same topics: a message is theirs. */
  readonly earlier: readonly Asked[];
  /** Until it is answered, some of what the broker keeps for it may have been told for others. */
  readonly isRepeating: boolean;
  state: 'ASKED' | 'GRANTED' | 'OVER';
  stop: Stop | null;
}

/** The broker has ended so many connections in a row while this one filter had no answer: it does so for the filter. */
const MOST_STRIKES = 3;
/** What ends the connection is tried again when all else was tried so often: each attempt costs messages. */
const ENDING_TURNS = 20;

/**
 * Keeps filters subscribed over one link, as far as the broker lets it: with QoS 0, each new connection anew. Messages that the broker
 * keeps come once for each filter, not again after a reconnect. What a filter that is granted covers is not subscribed; a filter that
 * is refused is tried again now and then and with each connection.
 *
 * Overlapping filters count a message once: of those that match its topic the one that was asked for first has it. With MQTT 5 the link
 * knows for which one a copy came; without, see Copies.
 */
export class SubscribedFilters {
  readonly #options: SubscribedFiltersOptions;
  readonly #stopListening: Stop;
  readonly #retries: NodeJS.Timeout;
  /** Of one kind, and asked for first. */
  #apart: readonly string[] = [];
  #wanted: readonly string[] = [];
  /** By filter, in the order in which they were asked for. */
  readonly #asked = new Map<string, Asked>();
  readonly #refusals = new Map<string, Refusal>();
  readonly #strikes = new Map<string, number>();
  /** Filters whose kept messages came. */
  readonly #flooded = new Set<string>();
  #copies = new Copies();
  #hasOverlaps = false;
  #turn = 0;
  /** One filter at a time: the broker has ended a connection with several that it had not answered. */
  #isCareful = false;
  #isSettled = false;
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

  get refusals(): ReadonlyMap<string, Refusal> {
    return this.#refusals;
  }

  /** All that can be subscribed on this connection is, and what the broker kept of it has been told. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  isGranted(filter: string): boolean {
    return this.#asked.get(filter)?.state === 'GRANTED';
  }

  /** From now on these; `apart` whether others cover them or not, and before them. */
  want(apart: readonly string[], wanted: readonly string[]): void {
    this.#apart = apart;
    this.#wanted = wanted;
    this.#reconcile();
    const all = new Set([...apart, ...wanted]);
    for (const filters of [this.#refusals, this.#strikes, this.#flooded])
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
    // Those apart are of one kind: who does so for one does it for all, and each attempt costs a connection.
    for (const refused of this.#apart.includes(filter) ? this.#apart : [filter]) {
      this.#refusals.set(refused, { isDenied: true, isRightMissing: false, text, endsConnection: true });
    }
  }

  #forgetAll(): void {
    for (const asked of [...this.#asked.values()]) this.#forget(asked);
    this.#isSettled = false;
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

  /** What is to be subscribed as far as is known: what another one of these covers is not. */
  #targets(): string[] {
    const candidates = this.#wanted.filter((filter) => !this.#refusals.has(filter));
    const uncovered = candidates.filter(
      (filter) => !candidates.some((other) => other !== filter && filterCovers(other, filter)),
    );
    return [...new Set([...this.#apart.filter((filter) => !this.#refusals.has(filter)), ...uncovered])];
  }

  /** Not wanted any more, or covered by what is granted: not by what may yet be refused. */
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
    this.#isSettled = false;
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

  /** Without subscription identifiers what is kept comes for each filter; with Retain As Published it looks like what is published now. */
  #mayBeRepeated({ filter, isRepeating }: Asked): boolean {
    return this.#options.link.protocolVersion === 4 || (isRepeating && !this.#flooded.has(filter));
  }

  #granted(asked: Asked): void {
    if (asked.state !== 'ASKED') return;
    asked.state = 'GRANTED';
    this.#refusals.delete(asked.filter);
    this.#strikes.delete(asked.filter);
    this.#reconcile();
    this.#options.onChange();
  }

  #refused(asked: Asked, error: unknown): void {
    // With the connection, which tells itself.
    if (asked.state === 'OVER') return;
    this.#forget(asked);
    this.#refusals.set(asked.filter, refusalOf(error));
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
    for (const [filter, refusal] of [...this.#refusals]) {
      if (isTried(refusal) && !this.#asked.has(filter)) this.#ask(filter);
    }
  }

  /** The broker writes in order: with its answer to a ping behind all subscriptions, what it kept for them is here. */
  #settle(): void {
    if (this.#isSettled || this.#isPinging || this.#asked.size === 0 || !this.#hasAnswers) {
      if (this.#asked.size === 0 && this.#refusals.size > 0) this.#isSettled = true;
      return;
    }
    const asked = [...this.#asked.values()];
    this.#isPinging = true;
    this.#options.link.ping().then(
      () => {
        this.#isPinging = false;
        for (const { filter, state } of asked) if (state === 'GRANTED') this.#flooded.add(filter);
        this.#isSettled = this.#hasAnswers && asked.every((one) => this.#asked.get(one.filter) === one);
        if (!this.#isSettled) this.#settle();
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

  /** Whether the message is told for this filter: not for an earlier one that has it, and not a second time. */
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

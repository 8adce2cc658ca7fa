import { ServiceError } from '../../../platform/errors.ts';
import type { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { StreamMessage, StreamSession } from '../model/stream-session.ts';
import type { MessageFlow } from './message-flow.ts';
import { subscribeRefusal } from './refusals.ts';

/** Milliseconds until the broker is asked again that gave no answer though it is connected. */
const RETRY_MS = 5_000;
/** Until one is asked that refused: access may be granted meanwhile, which no broker tells. */
const REFUSED_RETRY_MS = 30_000;

export interface SourceOptions {
  readonly session: StreamSession;
  /** How many subscriptions are asked for at once, of all streams. */
  readonly subscribeLimit: ConcurrencyLimit;
  onChange(): void;
}

interface Wanted {
  readonly filter: string;
  readonly flow: MessageFlow;
}

/** One subscription of the session. */
interface Subscribed {
  readonly filter: string;
  flow: MessageFlow;
  stop: Stop | null;
}

/**
 * The source of one stream: what it is to be subscribed to, and what it is. The two are brought together by one attempt at a time,
 * whatever changes meanwhile. The old filter is left at the moment of the broker's answer to the new one, so that what both match is
 * neither lost nor doubled: until then it comes for the old one alone, and after that for each. Where the broker is away or refuses
 * the new one, the old one is left all the same. A refused filter is asked for again when the broker is connected again, with each
 * change, and now and then.
 */
export class SourceSubscription {
  readonly #options: SourceOptions;
  #wanted: Wanted | null = null;
  #current: Subscribed | null = null;
  /** Asked for; messages may come before the answer. */
  #entering: Subscribed | null = null;
  #settling: Promise<void> | null = null;
  /** Counts the reasons to ask the broker (again); there is one attempt for each. */
  #reasons = 0;
  #triedFor = 0;
  #problem: string | null = null;
  #isRefused = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  get isSubscribed(): boolean {
    return this.#current !== null && this.#current.filter === this.#wanted?.filter;
  }

  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Why it is not subscribed; null: it is, or nothing was tried yet. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Null: nothing. When it resolves, what follows of it is done, or known to be impossible for now. */
  async want(wanted: Wanted | null): Promise<void> {
    this.#wanted = wanted;
    this.#isRefused = false;
    this.#problem = null;
    clearTimeout(this.#retry);
    if (wanted === null) {
      this.#leave();
      return;
    }
    for (const subscribed of [this.#current, this.#entering]) {
      if (subscribed?.filter === wanted.filter) subscribed.flow = wanted.flow;
    }
    await this.#askAgain();
  }

  /** The connection to the broker was made or lost. */
  linkChanged(): void {
    if (this.#wanted !== null && this.#isConnected) void this.#askAgain();
  }

  /** What comes from now on is left to the broker, which sends it again. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
  }

  get #isConnected(): boolean {
    return this.#options.session.status.state === 'CONNECTED';
  }

  #askAgain(): Promise<void> {
    this.#reasons += 1;
    this.#settling ??= this.#settle();
    return this.#settling;
  }

  async #settle(): Promise<void> {
    // Whoever asks meanwhile waits for the same promise, which is kept before the first attempt.
    await Promise.resolve();
    while (!this.#isSettled()) await this.#options.subscribeLimit.run(() => this.#attempt());
    if (!this.isSubscribed && !this.#isClosed) this.#leave();
    this.#settling = null;
    this.#options.onChange();
  }

  #isSettled(): boolean {
    if (this.#wanted === null || this.#isClosed || this.isSubscribed) return true;
    return this.#triedFor === this.#reasons || !this.#isConnected;
  }

  async #attempt(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === null || this.#isSettled()) return;
    this.#triedFor = this.#reasons;
    const next: Subscribed = { filter: wanted.filter, flow: wanted.flow, stop: null };
    this.#entering = next;
    try {
      next.stop = await this.#options.session.subscribe(wanted.filter, (message) => this.#take(next, message), {
        onGranted: () => this.#granted(next),
        onRefused: (error) => this.#refusedLater(next, error),
      });
    } catch (error) {
      this.#entering = null;
      if (this.#wanted?.filter === wanted.filter) this.#failed(error, wanted.filter);
      return;
    }
    this.#granted(next);
    this.#entering = null;
    if (this.#current !== next) next.stop();
  }

  /** Not every session tells of it before it resolves. */
  #granted(next: Subscribed): void {
    if (this.#entering === next && this.#wanted?.filter === next.filter) this.#enter(next);
  }

  #enter(next: Subscribed): void {
    this.#leave();
    this.#entering = null;
    this.#current = next;
    this.#problem = null;
    this.#isRefused = false;
  }

  #failed(error: unknown, filter: string): void {
    this.#isRefused = isRefusal(error);
    this.#problem = this.#isRefused ? subscribeRefusal(error as ServiceError, filter) : (error as Error).message;
    this.#retryLater();
  }

  /** The broker had granted it, and refused it when the connection was made again. */
  #refusedLater(subscribed: Subscribed, error: ServiceError): void {
    if (subscribed !== this.#current || this.#isClosed) return;
    this.#leave();
    this.#isRefused = true;
    this.#problem = subscribeRefusal(error, subscribed.filter);
    this.#retryLater();
    this.#options.onChange();
  }

  #retryLater(): void {
    clearTimeout(this.#retry);
    if (this.#isClosed || !this.#isConnected) return;
    this.#retry = setTimeout(() => this.linkChanged(), this.#isRefused ? REFUSED_RETRY_MS : RETRY_MS);
  }

  #take(subscribed: Subscribed, message: StreamMessage): void {
    if (this.#isClosed) message.hold();
    else if (subscribed === this.#current || this.#takesEarly(subscribed, message.topic)) subscribed.flow.take(message);
  }

  /** What the filter that is still there matches too goes the old way. */
  #takesEarly(subscribed: Subscribed, topic: string): boolean {
    if (subscribed !== this.#entering || subscribed.filter !== this.#wanted?.filter) return false;
    return this.#current === null || !filterMatches(this.#current.filter, topic);
  }

  #leave(): void {
    this.#current?.stop?.();
    this.#current = null;
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && error.code !== 'BROKER_UNREACHABLE' && error.code !== 'BROKER_TIMEOUT';

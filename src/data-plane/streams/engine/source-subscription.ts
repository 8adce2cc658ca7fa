import { ServiceError } from '../../../platform/errors.ts';
import type { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { StreamMessage, StreamSession } from '../model/stream-session.ts';
import type { MessageFlow } from './message-flow.ts';
import { subscribeRefusal } from './refusals.ts';

/** Milliseconds until a subscription is retried that failed while the broker was connected. */
const RETRY_MS = 5_000;
/** Milliseconds until a refused subscription is retried. Access may be granted meanwhile; brokers do not report it. */
const REFUSED_RETRY_MS = 30_000;

interface SourceOptions {
  readonly session: StreamSession;
  readonly subscribeLimit: ConcurrencyLimit;
  onChange(): void;
}

interface Wanted {
  readonly filter: string;
  readonly flow: MessageFlow;
}

interface Subscribed {
  readonly filter: string;
  flow: MessageFlow;
  stop: Stop | null;
}

/**
 * Keeps the subscription of one stream equal to its wanted source, with one attempt at a time.
 *
 * The old subscription ends when the broker grants the new one, so that messages matching both filters are neither lost
 * nor duplicated: before the grant only the old subscription delivers them, afterwards only the new one. The old
 * subscription also ends if the broker is not connected or refuses the new filter. A refused filter is retried after a
 * reconnect, after each change of the definition, and every REFUSED_RETRY_MS.
 */
export class SourceSubscription {
  readonly #options: SourceOptions;
  #wanted: Wanted | null = null;
  #current: Subscribed | null = null;
  /** Requested, but not granted yet. Messages may arrive before SUBACK. */
  #entering: Subscribed | null = null;
  #settling: Promise<void> | null = null;
  /** Number of causes to subscribe (again). There is one attempt per cause. */
  #reasons = 0;
  #triedFor = 0;
  /** Why the source is not subscribed. `null` if it is subscribed or was not tried yet. */
  problem: string | null = null;
  isRefused = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  get isSubscribed(): boolean {
    return this.#current !== null && this.#current.filter === this.#wanted?.filter;
  }

  /** Sets the wanted source, or none with `null`. Resolves when it is subscribed or cannot be subscribed for now. */
  async want(wanted: Wanted | null): Promise<void> {
    this.#wanted = wanted;
    this.isRefused = false;
    this.problem = null;
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

  linkChanged(): void {
    if (this.#wanted !== null && this.#isConnected) void this.#askAgain();
  }

  /** Later messages are not acknowledged, so that the broker redelivers them. */
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
    // Concurrent callers wait for the same promise, which is stored before the first attempt.
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

  /** Also called after `subscribe` resolved, because not every session calls `onGranted`. */
  #granted(next: Subscribed): void {
    if (this.#entering === next && this.#wanted?.filter === next.filter) this.#enter(next);
  }

  #enter(next: Subscribed): void {
    this.#leave();
    this.#entering = null;
    this.#current = next;
    this.problem = null;
    this.isRefused = false;
  }

  #failed(error: unknown, filter: string): void {
    this.isRefused = isRefusal(error);
    this.problem = this.isRefused ? subscribeRefusal(error as ServiceError, filter) : (error as Error).message;
    this.#retryLater();
  }

  /** The broker granted the subscription first, and refused it after a reconnect. */
  #refusedLater(subscribed: Subscribed, error: ServiceError): void {
    if (subscribed !== this.#current || this.#isClosed) return;
    this.#leave();
    this.isRefused = true;
    this.problem = subscribeRefusal(error, subscribed.filter);
    this.#retryLater();
    this.#options.onChange();
  }

  #retryLater(): void {
    clearTimeout(this.#retry);
    if (this.#isClosed || !this.#isConnected) return;
    this.#retry = setTimeout(() => this.linkChanged(), this.isRefused ? REFUSED_RETRY_MS : RETRY_MS);
  }

  #take(subscribed: Subscribed, message: StreamMessage): void {
    if (this.#isClosed) message.hold();
    else if (subscribed === this.#current || this.#takesEarly(subscribed, message.topic)) subscribed.flow.take(message);
  }

  /** Whether a message that arrives before the grant is taken: not if the old subscription also delivers it. */
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

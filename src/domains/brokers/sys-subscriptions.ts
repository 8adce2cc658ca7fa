import { ServiceError } from '../../platform/errors.ts';
import { missingRights } from '../../protocol/apis/missing-rights.ts';
import type { BrokerMessage, BrokerSession, Stop, SubscribeOptions } from '../../protocol/mqtt/broker-session.ts';

interface SysSubscriptionsOptions {
  readonly onMessage: (message: BrokerMessage) => void;
  /** Called when `problem` has changed. */
  readonly onProblem: () => void;
  /** Pause before filters that the broker refused are subscribed again, in milliseconds. Default: 30,000. */
  readonly refusedMs?: number | undefined;
}

/** The topic filters to subscribe to. `$SYS/#` would include the broker's whole log. */
export const SYS_FILTERS: readonly string[] = [
  '+',
  ...['clients/#', 'messages/#', 'publish/#', 'bytes/#', 'store/#', 'subscriptions/#', 'shared_subscriptions/#'],
  ...['retained messages/#', 'heap/#', 'load/#', 'packet/#', 'connections/#', 'connection/#', 'plugin/#'],
  ...['cluster/#', 'ha/#', 'metrics/#'],
].map((filter) => `$SYS/broker/${filter}`);

const REFUSED_MS = 15_000;
/** Minimum time between two attempts, however often access control changes. */
const PAUSE_MS = 1_000;

/**
 * Keeps SYS_FILTERS subscribed. A filter that the broker refuses, or does not respond to, is subscribed again after a
 * reconnect, after each change of access control (`lookAgain`), and every `refusedMs`.
 */
export class SysSubscriptions {
  readonly #session: BrokerSession;
  readonly #options: SysSubscriptionsOptions;
  readonly #stops = new Map<string, Stop>();
  readonly #refused = new Set<string>();
  readonly #subscribeOptions: SubscribeOptions = {
    onRefused: (error, filter) => {
      this.#stops.get(filter)?.();
      this.#failed(filter, error);
      this.#report();
      this.#retryIn(this.#options.refusedMs ?? REFUSED_MS);
    },
  };
  readonly #stopStatus: Stop;
  #problem: string | null = null;
  #isSubscribing = false;
  #attemptedAt = 0;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(session: BrokerSession, options: SysSubscriptionsOptions) {
    this.#session = session;
    this.#options = options;
    this.#stopStatus = session.onStatus(() => void this.#subscribe());
    void this.#subscribe();
  }

  /** Which topics the account of this service may not read, and what it needs. `null` if the broker refused none. */
  get problem(): string | null {
    return this.#problem;
  }

  lookAgain(): void {
    if (this.#refused.size > 0) this.#retryIn(Math.max(0, this.#attemptedAt + PAUSE_MS - Date.now()));
  }

  close(): void {
    this.#isClosed = true;
    this.#stopStatus();
    if (this.#retry) clearTimeout(this.#retry);
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }

  #retryIn(ms: number): void {
    if (this.#retry) clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#subscribe(), ms);
  }

  async #subscribe(): Promise<void> {
    if (this.#isClosed || this.#isSubscribing || this.#session.status.state !== 'CONNECTED') return;
    const missing = SYS_FILTERS.filter((filter) => !this.#stops.has(filter));
    if (missing.length === 0) return;
    this.#isSubscribing = true;
    this.#attemptedAt = Date.now();
    const { since } = this.#session.status;
    await Promise.all(missing.map((filter) => this.#subscribeOne(filter)));
    this.#isSubscribing = false;
    if (this.#isClosed) return;
    this.#report();
    // The connection was made again meanwhile: its refusals are not known.
    if (this.#session.status.since !== since) void this.#subscribe();
    else if (missing.some((filter) => !this.#stops.has(filter))) this.#retryIn(this.#options.refusedMs ?? REFUSED_MS);
  }

  async #subscribeOne(filter: string): Promise<void> {
    try {
      const stop = await this.#session.subscribe(filter, this.#options.onMessage, this.#subscribeOptions);
      if (this.#isClosed) stop();
      else this.#stops.set(filter, stop);
      this.#refused.delete(filter);
    } catch (error) {
      this.#failed(filter, error);
    }
  }

  #failed(filter: string, error: unknown): void {
    this.#stops.delete(filter);
    if (error instanceof ServiceError && REFUSALS.has(error.code)) this.#refused.add(filter);
  }

  #report(): void {
    const problem = this.#refused.size === 0 ? null : this.#describe();
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onProblem();
  }

  #describe(): string {
    const filters = this.#refused.size === SYS_FILTERS.length ? ['$SYS/#'] : [...this.#refused];
    return `This service may not read ${filters.join(', ')}. ${missingRights(filters, this.#session.username ?? null)}`;
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['NOT_ALLOWED', 'BROKER_REJECTED']);

import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { ArrivedMessage, BridgeSession } from '../link/bridge-session.ts';
import { DEFAULT_QOS, sourceFilter, type TopicRule, type Way, waysOf } from './mqtt-bridge-config.ts';

/** Pause before a filter is subscribed again that the broker refused, in milliseconds, and one without a response. */
const REFUSED_MS = 30_000;
const UNANSWERED_MS = 5_000;

interface WaySubscriptionsOptions {
  readonly way: Way;
  readonly source: BridgeSession;
  readonly topics: readonly TopicRule[];
  /** Called with the rules of the filter that matched. */
  readonly onMessage: (message: ArrivedMessage, rules: readonly TopicRule[]) => void;
  /** Called when `problem` or `isComplete` changes. */
  readonly onChange: () => void;
}

/** Keeps the source filters of one direction subscribed. */
export class WaySubscriptions {
  readonly #options: WaySubscriptionsOptions;
  readonly #filters: ReadonlyMap<string, readonly TopicRule[]>;
  /** `null` while the subscription is in progress. */
  readonly #subscribed = new Map<string, Stop | null>();
  readonly #refused = new Map<string, string>();
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: WaySubscriptionsOptions) {
    this.#options = options;
    this.#filters = filtersOf(options.topics, options.way);
  }

  /** Why a filter is not subscribed; `null` if all are, or will be with the next connection. */
  get problem(): string | null {
    const [first] = this.#refused;
    return first === undefined ? null : `"${first[0]}": ${first[1]}`;
  }

  /** Whether each filter was granted. Filters of a resumed session count as granted. */
  get isComplete(): boolean {
    for (const filter of this.#filters.keys()) if (!this.#subscribed.get(filter)) return false;
    return true;
  }

  /** Subscribes all filters immediately, before messages of an earlier session are read. */
  linkChanged(): void {
    if (this.#isClosed || this.#options.source.status.state !== 'CONNECTED') return;
    for (const [filter, rules] of this.#filters) if (!this.#subscribed.has(filter)) void this.#subscribe(filter, rules);
  }

  /** Delivers no further messages. The filters remain in the session. */
  close(): void {
    this.#isClosed = true;
    if (this.#retry) clearTimeout(this.#retry);
  }

  async #subscribe(filter: string, rules: readonly TopicRule[]): Promise<void> {
    const { source, onMessage } = this.#options;
    this.#subscribed.set(filter, null);
    try {
      const stop = await source.subscribe(filter, (message) => onMessage(message, rules), {
        qos: Math.max(...rules.map(({ qos = DEFAULT_QOS }) => qos)) as 0 | 1 | 2,
        retained: rules.some(({ retain = true }) => retain),
        onRefused: (error) => this.#refusedLater(filter, error),
      });
      this.#subscribed.set(filter, stop);
      this.#refused.delete(filter);
      if (this.isComplete) this.#options.onChange();
    } catch (error) {
      this.#subscribed.delete(filter);
      this.#failed(filter, error);
    }
  }

  /** The broker granted the filter, and refused it after a reconnect. */
  #refusedLater(filter: string, error: ServiceError): void {
    if (this.#isClosed) return;
    this.#subscribed.get(filter)?.();
    this.#subscribed.delete(filter);
    this.#failed(filter, error);
  }

  #failed(filter: string, error: unknown): void {
    if (this.#isClosed || !(error instanceof ServiceError) || error.code === 'BROKER_UNREACHABLE') return;
    const isRefused = error.code !== 'BROKER_TIMEOUT';
    if (isRefused) {
      this.#refused.set(filter, error.message);
      this.#options.onChange();
    }
    this.#retry ??= setTimeout(
      () => {
        this.#retry = null;
        this.linkChanged();
      },
      isRefused ? REFUSED_MS : UNANSWERED_MS,
    );
  }
}

/** The filters to subscribe for one direction, with the rules of each. */
export function filtersOf(topics: readonly TopicRule[], way: Way): Map<string, TopicRule[]> {
  const filters = new Map<string, TopicRule[]>();
  for (const rule of topics) {
    if (!waysOf(rule).includes(way)) continue;
    const filter = sourceFilter(rule, way);
    filters.set(filter, [...(filters.get(filter) ?? []), rule]);
  }
  return filters;
}

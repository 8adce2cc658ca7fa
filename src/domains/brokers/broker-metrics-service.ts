import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { notFound } from '../../platform/errors.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';
import type { BrokerMetrics } from './broker-metrics.ts';
import { type BrokerMetricsEvent, BrokerMetricsFeed } from './broker-metrics-feed.ts';
import type { BrokerRuntimes } from './broker-runtimes.ts';

export interface BrokerMetricsServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
}

/** The numbers of every broker: one feed for each, from its first connection, or the first who asks, until it is removed. */
export class BrokerMetricsService {
  readonly #runtimes: BrokerRuntimes;
  readonly #brokers: BrokerCache;
  readonly #feeds = new Map<string, BrokerMetricsFeed>();
  readonly #stop: () => void;

  constructor({ runtimes, brokers }: BrokerMetricsServiceOptions) {
    this.#runtimes = runtimes;
    this.#brokers = brokers;
    runtimes.onRuntime(({ id, link, sys }, change) => {
      if (change === 'CLOSING') this.#feeds.get(id)?.detach();
      else if (this.#brokers.get(id) !== null) this.#feed(id).attach(link, sys);
    });
    this.#stop = brokers.onRemove(({ id }) => {
      this.#feeds.get(id)?.close();
      this.#feeds.delete(id);
    });
  }

  /**
   * What the broker told last, also while it is away; null: it told nothing yet.
   * Errors: NOT_FOUND; where nothing was told, those of a broker that cannot be asked.
   */
  async of(broker: BrokerRecord): Promise<BrokerMetrics | null> {
    const feed = this.#feed(broker.id);
    // Nothing is asked of the broker, but whoever asks shall hear why it told nothing.
    return feed.state.metrics ?? this.#runtimes.ask(broker, async () => feed.state.metrics);
  }

  /** Oldest first. Errors: NOT_FOUND. */
  history({ id }: BrokerRecord): readonly BrokerMetrics[] {
    return this.#feed(id).history;
  }

  /** The numbers now, then each change of them and of the connection, until the broker is removed. Errors: NOT_FOUND. */
  watch({ id }: BrokerRecord, options: SubscriberOptions): LiveSource<BrokerMetricsEvent> {
    return this.#feed(id).watch(options);
  }

  close(): void {
    this.#stop();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #feed(id: string): BrokerMetricsFeed {
    // One that was removed a moment ago would never be closed.
    if (this.#brokers.get(id) === null) throw notFound('broker', id);
    let feed = this.#feeds.get(id);
    if (feed === undefined) {
      feed = new BrokerMetricsFeed();
      this.#feeds.set(id, feed);
    }
    return feed;
  }
}

import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { notFound } from '../../platform/errors.ts';
import { Listeners } from '../../platform/listeners.ts';
import type { BrokerCache, BrokerRecord } from './broker-cache.ts';
import type { BrokerMetrics } from './broker-metrics.ts';
import { type BrokerMetricsEvent, BrokerMetricsFeed, type BrokerSample } from './broker-metrics-feed.ts';
import type { BrokerRuntimes } from './broker-runtimes.ts';

/** The metrics of all brokers. A feed exists from the first connection or request until the broker is removed. */
export class BrokerMetricsService {
  readonly #runtimes: BrokerRuntimes;
  readonly #brokers: BrokerCache;
  readonly #feeds = new Map<string, BrokerMetricsFeed>();
  readonly #listeners = new Listeners<[brokerId: string, sample: BrokerSample]>();
  readonly #stop: () => void;

  constructor({ runtimes, brokers }: { readonly runtimes: BrokerRuntimes; readonly brokers: BrokerCache }) {
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

  /** `null` if there are none yet. Errors: NOT_FOUND; without metrics those of an unreachable broker. */
  async of(broker: BrokerRecord): Promise<BrokerMetrics | null> {
    const feed = this.#feed(broker.id);
    // Sends no request, but fails with the reason if the broker is unreachable.
    return feed.state.metrics ?? this.#runtimes.ask(broker, async () => feed.state.metrics);
  }

  /** The last metrics that are known now. `null`: none. */
  last(brokerId: string): BrokerMetrics | null {
    return this.#feeds.get(brokerId)?.state.metrics ?? null;
  }

  reason({ id }: BrokerRecord): string | null {
    return this.#feed(id).state.reason;
  }

  /** Calls the listener for the samples of all brokers. It must not throw. */
  readonly onSample = this.#listeners.add;

  /** Sends the metrics, then each change of metrics or connection until the broker is removed. Errors: NOT_FOUND. */
  watch({ id }: BrokerRecord, options: SubscriberOptions): LiveSource<BrokerMetricsEvent> {
    return this.#feed(id).watch(options);
  }

  close(): void {
    this.#stop();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #feed(id: string): BrokerMetricsFeed {
    // The feed of a broker that was just removed would never be closed.
    if (this.#brokers.get(id) === null) throw notFound('broker', id);
    let feed = this.#feeds.get(id);
    if (feed === undefined) {
      feed = new BrokerMetricsFeed({
        onSample: (sample) => {
          this.#listeners.notify(id, sample);
        },
      });
      this.#feeds.set(id, feed);
    }
    return feed;
  }
}

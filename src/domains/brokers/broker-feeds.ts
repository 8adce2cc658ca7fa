import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type PolledContent, type PolledEvent, PolledFeed, type PollSource } from '../../gateway/live/polled-feed.ts';
import type { BrokerCache } from './broker-cache.ts';
import type { BrokerRuntime } from './broker-runtime.ts';
import type { BrokerRuntimes } from './broker-runtimes.ts';

export interface BrokerFeedsOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokerCache: Pick<BrokerCache, 'onRemove'>;
  readonly onFault: (error: unknown) => void;
}

/** Live values of parts of brokers, such as the status of each bridge. Parts are identified by broker id and key. */
export class BrokerFeeds<Value extends object> {
  readonly #content: PolledContent<Value>;
  readonly #sourceOf: (runtime: BrokerRuntime, key: string) => PollSource<Value>;
  readonly #onFault: (error: unknown) => void;
  readonly #feeds = new Map<string, Map<string, PolledFeed<Value>>>();
  readonly #stop: () => void;

  constructor(
    { runtimes, brokerCache, onFault }: BrokerFeedsOptions,
    content: PolledContent<Value>,
    sourceOf: (runtime: BrokerRuntime, key: string) => PollSource<Value>,
  ) {
    this.#content = content;
    this.#sourceOf = sourceOf;
    this.#onFault = onFault;
    // New settings of a broker create another runtime, with which the existing subscriptions continue.
    runtimes.onRuntime((runtime, change) => {
      for (const [key, feed] of this.#feeds.get(runtime.id) ?? []) {
        if (change === 'OPENED') feed.attach(sourceOf(runtime, key), runtime.link);
        else feed.detach();
      }
    });
    this.#stop = brokerCache.onRemove(({ id }) => this.#endAll(id));
  }

  watch(runtime: BrokerRuntime, key: string, options: SubscriberOptions): Promise<LiveSource<PolledEvent<Value>>> {
    const feeds = this.#feeds.get(runtime.id) ?? new Map<string, PolledFeed<Value>>();
    this.#feeds.set(runtime.id, feeds);
    let feed = feeds.get(key);
    if (feed === undefined) {
      feed = new PolledFeed({ ...this.#content, onEnd: () => this.end(runtime.id, key), onFault: this.#onFault });
      feeds.set(key, feed);
      feed.attach(this.#sourceOf(runtime, key), runtime.link);
    }
    return feed.watch(options);
  }

  end(brokerId: string, key: string): void {
    const feeds = this.#feeds.get(brokerId);
    feeds?.get(key)?.close();
    feeds?.delete(key);
    if (feeds?.size === 0) this.#feeds.delete(brokerId);
  }

  close(): void {
    this.#stop();
    for (const brokerId of [...this.#feeds.keys()]) this.#endAll(brokerId);
  }

  #endAll(brokerId: string): void {
    for (const key of [...(this.#feeds.get(brokerId)?.keys() ?? [])]) this.end(brokerId, key);
  }
}

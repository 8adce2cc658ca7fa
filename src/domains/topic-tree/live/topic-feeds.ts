import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { notFound, ServiceError } from '../../../platform/errors.ts';
import { type TopicEvent, TopicFeed, type TopicFeedOptions } from './topic-feed.ts';

/** Maximum number of feeds per broker. Beyond it, a feed without subscribers is closed. */
const MAX_FEEDS = 100;

export class TopicFeeds {
  /** Feeds by broker and key. */
  readonly #feeds = new Map<string, Map<string, TopicFeed>>();

  /**
   * `key` identifies the kind and the prefix. Errors: RATE_LIMITED if the broker has too many feeds, and those of
   * `watch`.
   */
  watch(
    brokerId: string,
    key: string,
    open: () => Omit<TopicFeedOptions, 'onIdle'>,
    options: SubscriberOptions,
  ): Promise<LiveSource<TopicEvent>> {
    const feeds = this.#feeds.get(brokerId) ?? new Map<string, TopicFeed>();
    this.#feeds.set(brokerId, feeds);
    let feed = feeds.get(key);
    if (feed === undefined) {
      const idle = feeds.size < MAX_FEEDS ? undefined : [...feeds].find(([, { isIdle }]) => isIdle);
      if (idle) this.#end(brokerId, idle[0]);
      else if (feeds.size >= MAX_FEEDS) {
        throw new ServiceError(
          'RATE_LIMITED',
          `Topics of this broker are followed below ${MAX_FEEDS} different prefixes already`,
          { info: { limit: MAX_FEEDS } },
        );
      }
      feed = new TopicFeed({ ...open(), onIdle: () => this.#end(brokerId, key) });
      feeds.set(key, feed);
    }
    return feed.watch(options);
  }

  removed(brokerId: string): void {
    for (const feed of this.#feeds.get(brokerId)?.values() ?? []) feed.close(notFound('broker', brokerId));
    this.#feeds.delete(brokerId);
  }

  close(): void {
    for (const feeds of this.#feeds.values()) for (const feed of feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #end(brokerId: string, key: string): void {
    const feeds = this.#feeds.get(brokerId);
    feeds?.get(key)?.close();
    feeds?.delete(key);
    if (feeds?.size === 0) this.#feeds.delete(brokerId);
  }
}

import type { LevelPage, TopicChanges, TopicPage, TopicRequests, TopicResponses } from '../model/topic-recorder.ts';

/** Approximate size in bytes of all responses to one request. Writing them blocks an embedded broker. */
const REQUEST_BYTES = 1_000_000;
const ENTRY_BYTES = 250;
/** Beyond this size, further commands of the request are refused. */
const MAX_BYTES = 16_000_000;

/**
 * The size budget of the responses to one request over MQTT, which are sent in one packet. Lists are shortened to fit.
 */
export class ResponseBudget {
  readonly bytesEach: number;
  #left = MAX_BYTES;

  constructor(commands: number) {
    this.bytesEach = Math.max(1, Math.floor(REQUEST_BYTES / Math.max(1, commands)));
  }

  /** Limits a page size to the number of entries that may fit. Finding further entries would be wasted work. */
  limitPage(first: number): number {
    return Math.min(first, Math.max(1, Math.floor(this.bytesEach / ENTRY_BYTES)));
  }

  get isExhausted(): boolean {
    return this.#left <= 0;
  }

  spend(response: unknown): void {
    this.#left -= bytesOf(response);
  }
}

export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value ?? null));

/** Shortens a response to a size. A page keeps at least one entry, so that paging reaches the end. */
export const shortened: {
  readonly [Type in keyof TopicRequests]: (response: TopicResponses[Type], bytes: number) => TopicResponses[Type];
} = {
  status: (status) => status,
  topic: (topic) => topic,
  find: (page: TopicPage, bytes) => {
    const topics = fitting(page.topics, bytes, 1);
    return { ...page, topics, hasMore: page.hasMore || topics.length < page.topics.length };
  },
  levels: (page: LevelPage, bytes) => {
    const levels = fitting(page.levels, bytes, 1);
    return { ...page, levels, hasMore: page.hasMore || levels.length < page.levels.length };
  },
  changes: (changes: TopicChanges, bytes) => {
    const added = fitting(changes.added, bytes / 3);
    const changed = fitting(changes.changed, bytes / 3);
    const expired = fitting(changes.expired, bytes / 3);
    return {
      ...changes,
      added,
      changed,
      expired,
      addedLeftOut: changes.addedLeftOut + changes.added.length - added.length,
      changedLeftOut: changes.changedLeftOut + changes.changed.length - changed.length,
      expiredLeftOut: changes.expiredLeftOut + changes.expired.length - expired.length,
    };
  },
};

/** Returns the first items that fit, at least `least` of them. */
function fitting<Item>(items: readonly Item[], bytes: number, least = 0): readonly Item[] {
  let left = bytes;
  const end = items.findIndex((item) => {
    left -= bytesOf(item);
    return left < 0;
  });
  return end === -1 ? items : items.slice(0, Math.max(least, end));
}

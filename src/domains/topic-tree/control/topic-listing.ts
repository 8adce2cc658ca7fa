import { setImmediate as turn } from 'node:timers/promises';
import type { RecordedTopic, RecorderStatus, TopicKind, TopicPage } from '../model/topic-recorder.ts';
import { bytesOf } from './answer-room.ts';
import { type PayloadFields, payloadFields } from './payload-text.ts';

/** `data` of `listTopics`: the form of the documented examples, and additional fields of this service. */
interface TopicListing {
  readonly publishTopics: TopicsListed<{ readonly topic: string } & PayloadFields>;
  /** Missing if subscriptions cannot be observed. */
  readonly subscribeTopics?: TopicsListed<{ readonly topic: string }>;
  readonly unavailable?: { readonly subscribeTopics: string };
  /** Whether a limit excludes topics. */
  readonly truncated?: true;
}

interface TopicsListed<Entry> {
  /** Length of the whole list, not of the page. */
  readonly count: number;
  readonly data: readonly Entry[];
  /** Whether the list is shorter than requested. The next page begins at `offset` plus the number of entries. */
  readonly truncated?: true;
}

/** Approximate maximum size of one response: half of Mosquitto 2.1's default maximum packet size. */
const LISTING_BYTES = 1_000_000;

interface ListingPlace {
  readonly offset: number;
  /** Number of requested topics. Infinity for all. */
  readonly count: number;
  readonly maxBytes: number;
}

/** Calls `find` of a recorder. */
type Find = (kind: TopicKind, place: { after?: string; offset?: number; first: number }) => Promise<TopicPage>;

/** Returns both lists. They end at the same position, so that one offset continues both. */
export async function topicListing(
  { published, subscribed, subscribedReason }: RecorderStatus,
  find: Find,
  { offset, count, maxBytes }: ListingPlace,
): Promise<TopicListing> {
  const publishTopics = new GrowingList(find, 'PUBLISHED', offset, publishedEntry);
  const subscribeTopics = new GrowingList(find, 'SUBSCRIBED', offset, ({ topic }) => ({ topic }));
  const lists = subscribed === null ? [publishTopics] : [publishTopics, subscribeTopics];
  const isCut = await grow(lists, count, Math.min(LISTING_BYTES, maxBytes));
  const isTruncated = published.isTruncated || subscribed?.isTruncated === true;
  return {
    publishTopics: publishTopics.told(published.count, isCut),
    ...(subscribed === null
      ? { unavailable: { subscribeTopics: subscribedReason ?? 'Subscriptions cannot be seen' } }
      : { subscribeTopics: subscribeTopics.told(subscribed.count, isCut) }),
    ...(isTruncated ? { truncated: true } : {}),
  };
}

/** Fills the lists. Returns true if they were shortened to `maxBytes`. */
async function grow(lists: readonly GrowingList<object>[], count: number, maxBytes: number): Promise<boolean> {
  let bytes = 0;
  for (let told = 0; told < count && lists.some(({ isDone }) => !isDone); ) {
    const size = Math.min(PAGE, count - told);
    await Promise.all(lists.map((list) => list.read(size)));
    const steps = Math.min(...lists.map(({ readable }) => readable), Math.max(...lists.map(({ length }) => length)));
    for (let step = 0; step < steps; step += 1) {
      const entries = lists.map((list) => list.entryAt(step));
      bytes += bytesOf(entries);
      if (bytes > maxBytes && told > 0) return true;
      for (const [index, entry] of entries.entries()) if (entry !== null) lists[index]?.add(entry);
      told += 1;
    }
    for (const list of lists) list.turnPage(steps);
    // Yields to other tasks between the pages of long lists.
    await turn();
  }
  return false;
}

const publishedEntry = ({ topic, payload }: RecordedTopic) => ({ topic, ...payloadFields(payload) });

const PAGE = 500;

const NOTHING: TopicPage = { topics: [], hasMore: false, totalCount: null };

/** One of the two lists, read in pages. */
class GrowingList<Entry extends object> {
  isDone = false;
  readonly #find: Find;
  readonly #kind: TopicKind;
  readonly #offset: number;
  readonly #entryOf: (topic: RecordedTopic) => Entry;
  readonly #data: Entry[] = [];
  #after: string | undefined;
  #page = NOTHING;

  constructor(find: Find, kind: TopicKind, offset: number, entryOf: (topic: RecordedTopic) => Entry) {
    this.#find = find;
    this.#kind = kind;
    this.#offset = offset;
    this.#entryOf = entryOf;
  }

  async read(first: number): Promise<void> {
    if (this.isDone) this.#page = NOTHING;
    else {
      const place = this.#after === undefined ? { offset: this.#offset } : { after: this.#after };
      this.#page = await this.#find(this.#kind, { ...place, first });
    }
  }

  /** Number of topics of the current page. */
  get length(): number {
    return this.#page.topics.length;
  }

  /** Number of positions until the next page must be read. Infinity for the last page. */
  get readable(): number {
    return this.#page.hasMore ? this.length : Number.POSITIVE_INFINITY;
  }

  entryAt(place: number): Entry | null {
    const topic = this.#page.topics[place];
    return topic === undefined ? null : this.#entryOf(topic);
  }

  add(entry: Entry): void {
    this.#data.push(entry);
  }

  /** Ends a page of which this many positions were used. */
  turnPage(told: number): void {
    const { topics, hasMore } = this.#page;
    this.#after = topics[Math.min(told, topics.length) - 1]?.topic ?? this.#after;
    // An empty page would be read again and again.
    this.isDone ||= (!hasMore && told >= topics.length) || topics.length === 0;
  }

  told(count: number, isCut: boolean): TopicsListed<Entry> {
    const isShort = isCut && this.#offset + this.#data.length < count;
    return { count, data: this.#data, ...(isShort ? { truncated: true } : {}) };
  }
}

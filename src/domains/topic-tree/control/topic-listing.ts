import { setImmediate as immediate } from 'node:timers/promises';
import type { FindTopics, RecordedTopic, RecorderStatus, TopicPage, TopicPayload } from '../model/topic-recorder.ts';
import { bytesOf } from './response-budget.ts';

/** `data` of `listTopics`: the form of the documented examples, and additional fields of this service. */
interface TopicListing {
  readonly publishTopics: ListedPage<PublishedEntry>;
  readonly subscribeTopics?: ListedPage<SubscribedEntry>;
  readonly unavailable?: { readonly subscribeTopics: string };
  readonly truncated?: true;
}

interface ListedPage<Entry> {
  /** Length of the whole list, not of the page. */
  readonly count: number;
  readonly data: readonly Entry[];
  /** Whether the list is shorter than requested. The next page begins at `offset` plus the number of entries. */
  readonly truncated?: true;
}

interface SubscribedEntry {
  readonly topic: string;
}

type PublishedEntry = SubscribedEntry & PayloadFields;

/** A payload that is not UTF-8 has `payloadBase64`. `payloadBytes` is the original size of a truncated payload. */
interface PayloadFields {
  readonly payload?: string;
  readonly payloadBase64?: string;
  readonly payloadBytes?: number;
}

interface ListingRange {
  readonly offset: number;
  readonly count: number;
  readonly maxBytes: number;
}

type Find = (request: FindTopics) => Promise<TopicPage>;

/** Approximate maximum size of one response: half of Mosquitto 2.1's default maximum packet size. */
const LISTING_BYTES = 1_000_000;
const PAGE = 500;

/** Returns both lists. They end at the same position, so that one offset continues both. */
export async function topicListing(
  { published, subscribed, subscribedReason }: RecorderStatus,
  find: Find,
  { offset, count, maxBytes }: ListingRange,
): Promise<TopicListing> {
  const limit = Math.min(LISTING_BYTES, maxBytes);
  const publishTopics: PublishedEntry[] = [];
  const subscribeTopics: SubscribedEntry[] = [];
  const publishReader = entriesOf(find, 'PUBLISHED', offset, count, publishedEntry);
  const subscribeReader =
    subscribed && entriesOf(find, 'SUBSCRIBED', offset, count, ({ topic }): SubscribedEntry => ({ topic }));
  let bytes = 0;
  let isCut = false;
  for (let position = 0; position < count; position += 1) {
    const [publish, subscribe] = await Promise.all([publishReader.next(), subscribeReader?.next()]);
    if (publish.done && subscribe?.done !== false) break;
    bytes += bytesOf([publish.value, subscribe?.value]);
    isCut = bytes > limit && position > 0;
    if (isCut) break;
    if (!publish.done) publishTopics.push(publish.value);
    if (subscribe?.done === false) subscribeTopics.push(subscribe.value);
  }
  const listed = <Entry>(length: number, data: readonly Entry[]): ListedPage<Entry> => {
    const isShort = isCut && offset + data.length < length;
    return { count: length, data, ...(isShort ? { truncated: true } : {}) };
  };
  const isTruncated = published.isTruncated || subscribed?.isTruncated === true;
  return {
    publishTopics: listed(published.count, publishTopics),
    ...(subscribed === null
      ? { unavailable: { subscribeTopics: subscribedReason ?? 'Subscriptions cannot be observed' } }
      : { subscribeTopics: listed(subscribed.count, subscribeTopics) }),
    ...(isTruncated ? { truncated: true } : {}),
  };
}

async function* entriesOf<Entry>(
  find: Find,
  kind: FindTopics['kind'],
  offset: number,
  count: number,
  entryOf: (topic: RecordedTopic) => Entry,
): AsyncGenerator<Entry, undefined> {
  let start: Pick<FindTopics, 'after' | 'offset'> = { offset };
  for (let left = count; left > 0; ) {
    const { topics, hasMore } = await find({ kind, ...start, first: Math.min(PAGE, left) });
    for (const topic of topics) yield entryOf(topic);
    const last = topics.at(-1);
    if (!hasMore || last === undefined) return;
    left -= topics.length;
    start = { after: last.topic };
    await immediate();
  }
}

const publishedEntry = ({ topic, payload }: RecordedTopic): PublishedEntry => ({ topic, ...payloadFields(payload) });

function payloadFields(payload: TopicPayload | null): PayloadFields {
  if (payload === null) return {};
  const bytes = Buffer.from(payload.data, 'base64');
  const isCut = bytes.length < payload.bytes;
  const text = textOf(bytes, isCut);
  return {
    ...(text === null ? { payloadBase64: payload.data } : { payload: text }),
    ...(isCut ? { payloadBytes: payload.bytes } : {}),
  };
}

/** Returns `null` if the bytes are not UTF-8. An incomplete last character of a truncated payload is omitted. */
function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}

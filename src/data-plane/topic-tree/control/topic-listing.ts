import { setImmediate as immediate } from 'node:timers/promises';
import { payloadText } from '../../../platform/text/payload-text.ts';
import type { FindTopics, RecordedTopic, RecorderStatus, TopicKind, TopicPage } from '../model/topic-recorder.ts';
import { bytesOf } from './response-budget.ts';

type Find = (request: FindTopics) => Promise<TopicPage>;

/** Approximate maximum size of one response: half of Mosquitto 2.1's default maximum packet size. */
const LISTING_BYTES = 1_000_000;
const PAGE = 500;

/**
 * `data` of `listTopics` as in the documented examples, with additional fields. Both lists end at the same position, so
 * that one offset continues both. `count` is the length of the whole list. If `truncated` is true, the list is shorter
 * than requested: the next page begins at `offset` plus the number of its entries.
 */
export async function topicListing(
  { published, subscribed, subscribedReason }: RecorderStatus,
  find: Find,
  offset: number,
  count: number,
  maxBytes = LISTING_BYTES,
): Promise<object> {
  const limit = Math.min(LISTING_BYTES, maxBytes);
  const publishTopics: object[] = [];
  const subscribeTopics: object[] = [];
  const publishReader = entriesOf(find, 'PUBLISHED', offset, count, publishedEntry);
  const subscribeReader = subscribed && entriesOf(find, 'SUBSCRIBED', offset, count, ({ topic }) => ({ topic }));
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
  const listed = (length: number, data: readonly object[]) => {
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

async function* entriesOf(
  find: Find,
  kind: TopicKind,
  offset: number,
  count: number,
  entryOf: (topic: RecordedTopic) => object,
): AsyncGenerator<object, undefined> {
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

/** A payload that is not UTF-8 has `payloadBase64`. `payloadBytes` is the original size of a truncated payload. */
function publishedEntry({ topic, payload }: RecordedTopic): object {
  if (payload === null) return { topic };
  const bytes = Buffer.from(payload.data, 'base64');
  const isCut = bytes.length < payload.bytes;
  const text = payloadText(bytes, isCut);
  return {
    topic,
    ...(text === null ? { payloadBase64: payload.data } : { payload: text }),
    ...(isCut ? { payloadBytes: payload.bytes } : {}),
  };
}

import { comparison, cursorOf, type Place } from '../../../platform/sorting/places.ts';
import type { RecordedTopic, TopicOrder } from '../model/topic-recorder.ts';

/** Compares topics level by level, by UTF-16 units. A topic precedes those below it. */
export function compareTopics(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return levelUnit(a, at) - levelUnit(b, at);
}

function levelUnit(topic: string, at: number): number {
  if (at === topic.length) return -2;
  const unit = topic.charCodeAt(at);
  return unit === SLASH ? -1 : unit;
}

/** The topic whose subtree a prefix selects. `null` for all topics. A trailing `/` or `/#` is ignored. */
export function topicOfPrefix(prefix: string | undefined): string | null {
  if (prefix === undefined || prefix === '' || prefix === '#') return null;
  return prefix.replace(/\/#?$/, '');
}

export function isAtOrBelow(topic: string, above: string | null): boolean {
  return (
    above === null ||
    (topic.startsWith(above) && (topic.length === above.length || topic.charCodeAt(above.length) === SLASH))
  );
}

const SLASH = 47;

/** Topics with equal values are in ascending order. */
export const topicComparison = ({ field, direction }: TopicOrder) =>
  comparison(direction, field === 'TOPIC' && direction === 'desc' ? (a, b) => compareTopics(b, a) : compareTopics);

export function topicPlace(
  { topic, lastSeen, messages }: Pick<RecordedTopic, 'topic' | 'lastSeen' | 'messages'>,
  { field }: TopicOrder,
): Place {
  return { value: field === 'TOPIC' ? null : field === 'LAST_SEEN' ? lastSeen : messages, key: topic };
}

export const topicCursor = (topic: RecordedTopic, order: TopicOrder | undefined): string =>
  order === undefined ? topic.topic : cursorOf(topicPlace(topic, order), order);

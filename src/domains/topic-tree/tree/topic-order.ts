/** Below 0: `a` comes before `b`. By level, each by its UTF-16 units; a topic comes before those below it. */
export function compareTopics(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return levelUnit(a, at) - levelUnit(b, at);
}

/** The end of the topic comes first, then the end of a level, then the units. */
function levelUnit(topic: string, at: number): number {
  if (at === topic.length) return -2;
  const unit = topic.charCodeAt(at);
  return unit === SLASH ? -1 : unit;
}

/**
 * The topic whose subtree a prefix names; null: all topics. A last `/` or `/#` is ignored; `''` and `#` are all, and `/` is the empty
 * first level.
 */
export function topicOfPrefix(prefix: string | undefined): string | null {
  if (prefix === undefined || prefix === '' || prefix === '#') return null;
  return prefix.replace(/\/#?$/, '');
}

/** Whether a topic is another one or below it; null: above all. */
export function isAtOrBelow(topic: string, above: string | null): boolean {
  return (
    above === null ||
    (topic.startsWith(above) && (topic.length === above.length || topic.charCodeAt(above.length) === SLASH))
  );
}

const SLASH = 47;

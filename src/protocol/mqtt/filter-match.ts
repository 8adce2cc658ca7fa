/** MQTT 3.1.1, 4.7. A filter that starts with a wildcard does not match topics that start with `$` [MQTT-4.7.2-1]. */
export function filterMatches(filter: string, topic: string): boolean {
  if (topic.charCodeAt(0) === DOLLAR && (filter.charCodeAt(0) === PLUS || filter.charCodeAt(0) === HASH)) return false;
  let at = 0;
  let position = 0;
  while (at < filter.length) {
    const code = filter.charCodeAt(at);
    if (code === HASH) return true;
    if (code === PLUS) {
      while (position < topic.length && topic.charCodeAt(position) !== SLASH) position += 1;
      at += 1;
      continue;
    }
    if (position === topic.length) return filter.startsWith('/#', at) && at + 2 === filter.length;
    if (code !== topic.charCodeAt(position)) return false;
    at += 1;
    position += 1;
  }
  return position === topic.length;
}

/** The filter of a shared subscription without `$share/{ShareName}/` (MQTT 5, 4.8.2). */
export const withoutShare = (filter: string): string =>
  filter.startsWith('$share/') ? filter.replace(/^\$share\/[^/]+\//, '') : filter;

/** Whether a filter matches every topic that another filter matches. */
export function filterCovers(filter: string, other: string): boolean {
  if (!filterMatches(filter, other)) return false;
  if (!endsInHash(other)) return true;
  // A final `#` of the other filter matches many levels, which neither `+` nor a name covers.
  return endsInHash(filter) && levelCount(filter) <= levelCount(other);
}

/** Whether a topic exists that both filters match. Filters are given as their levels. */
export function filtersOverlap(levels: readonly string[], others: readonly string[]): boolean {
  const [first = '', otherFirst = ''] = [levels[0], others[0]];
  if (startsWithWildcard(first) ? otherFirst.startsWith('$') : startsWithWildcard(otherFirst) && first.startsWith('$'))
    return false;
  const length = Math.min(levels.length, others.length);
  for (let at = 0; at < length; at += 1) {
    const level = levels[at];
    const counterpart = others[at];
    if (level !== counterpart && !isWildcard(level) && !isWildcard(counterpart)) return false;
  }
  // `#` is always the last level, and `a/#` also matches `a`.
  const ends = [levels[length - 1], others[length - 1], levels[length], others[length]];
  return levels.length === others.length || ends.includes('#');
}

const isWildcard = (level: string | undefined): boolean => level === '+' || level === '#';

const startsWithWildcard = (filter: string): boolean => filter.charCodeAt(0) === PLUS || filter.charCodeAt(0) === HASH;

export const hasWildcard = (filter: string): boolean => filter.includes('+') || filter.includes('#');

const endsInHash = (filter: string): boolean => filter.charCodeAt(filter.length - 1) === HASH;

function levelCount(filter: string): number {
  let count = 1;
  for (let at = 0; at < filter.length; at += 1) if (filter.charCodeAt(at) === SLASH) count += 1;
  return count;
}

const DOLLAR = 36;
const PLUS = 43;
const HASH = 35;
const SLASH = 47;

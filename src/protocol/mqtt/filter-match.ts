/**
 * Whether a topic filter matches a topic, by MQTT 3.1.1 section 4.7: `+` is one level, a last `#` is this level and all below,
 * and a filter that starts with a wildcard does not match topics that start with `$` [MQTT-4.7.2-1].
 */
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

/**
 * Whether a filter matches everything that another one does, told level by level: `+` stands for a level and for `+`, `#` for
 * all that follows. As for topics, a filter that begins with a wildcard leaves out what begins with `$`.
 */
export function filterCovers(filter: string, other: string): boolean {
  if (!filterMatches(filter, other)) return false;
  if (!endsInHash(other)) return true;
  // `#` of the other one stands for many levels, none of which a `+` or a name may stand for.
  return endsInHash(filter) && levelCount(filter) <= levelCount(other);
}

/** Whether there can be a topic that both filters match; filters by their levels, as `split('/')` tells them. */
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
  // `#` is the last level; `a/#` matches `a`, too.
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

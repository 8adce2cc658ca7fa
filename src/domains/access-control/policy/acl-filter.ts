import { filterProblem } from '../../../protocol/mqtt/topics.ts';

/** Which of `%c` (client id) and `%u` (user name) an ACL topic holds as a whole level. Mosquitto 2.1. */
export interface Substitution {
  readonly clientId: boolean;
  readonly username: boolean;
}

export function substitutionOf(topic: string): Substitution | null {
  if (!topic.includes('%')) return null;
  const levels = topic.split('/');
  const substitution = { clientId: levels.includes('%c'), username: levels.includes('%u') };
  return substitution.clientId || substitution.username ? substitution : null;
}

/**
 * The topic with the value at each level that is `%c` or `%u`. Null where it matches nothing then: the value is unknown, or cannot
 * stand there.
 */
export function substitute(topic: string, place: '%c' | '%u', value: string | null): string | null {
  const levels = topic.split('/');
  const first = levels.indexOf(place);
  if (first < 0) return topic;
  if (value === null || value.includes('/') || !canStandAt(first, value)) return null;
  return levels.map((level) => (level === place ? value : level)).join('/');
}

/** Nothing empty and nothing with a meaning in filters; and no topic begins with `$` by a client's name. `level` counts from 0. */
export function canStandAt(level: number, value: string): boolean {
  return value !== '' && !/[+#]/.test(value) && !(level === 0 && value.startsWith('$'));
}

/**
 * What an ACL topic really matches. Brokers take topics that are no filters with `createRole`, `modifyRole` and from files; those
 * match nothing, with one exception in the comparison of topics (in 2.1 of subscriptions too): `a/+/#x` is taken for `a/+`.
 */
export function effectiveFilter(topic: string, lenient: boolean): string | null {
  if (filterProblem(topic) === null) return topic;
  if (!lenient) return null;
  const levels = topic.split('/');
  const bad = levels.findIndex((level, index) => index > 0 && levels[index - 1] === '+' && level.startsWith('#'));
  const start = levels.slice(0, bad).join('/');
  return bad > 0 && filterProblem(start) === null && !start.includes('#') ? start : null;
}

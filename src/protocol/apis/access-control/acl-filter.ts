import { filterProblem, MAX_STRING_BYTES } from '../../mqtt/topics.ts';

/** Which of `%c` (client id) and `%u` (user name) an ACL topic contains as a whole level. Mosquitto 2.1. */
export interface Substitution {
  readonly clientId: boolean;
  readonly username: boolean;
}

const CLIENT_ID_LEVEL = /(?:^|\/)%c(?:\/|$)/;
const USERNAME_LEVEL = /(?:^|\/)%u(?:\/|$)/;

export function substitutionOf(topic: string): Substitution | null {
  if (!topic.includes('%')) return null;
  const substitution = { clientId: CLIENT_ID_LEVEL.test(topic), username: USERNAME_LEVEL.test(topic) };
  return substitution.clientId || substitution.username ? substitution : null;
}

/**
 * Replaces each level that equals `placeholder`. `null` if the value is unknown or not allowed at that level, or if no
 * topic is long enough for the values: a rule and a client id of 64 KiB each would make a filter of a gigabyte.
 */
export function substitute(topic: string, placeholder: '%c' | '%u', value: string | null): string | null {
  const levels = topic.split('/');
  const first = levels.indexOf(placeholder);
  if (first < 0) return topic;
  if (value === null || value.includes('/') || !isAllowedAt(first, value)) return null;
  const count = levels.reduce((sum, level) => (level === placeholder ? sum + 1 : sum), 0);
  if (count * Buffer.byteLength(value) > MAX_STRING_BYTES) return null;
  return levels.map((level) => (level === placeholder ? value : level)).join('/');
}

/** Whether a client id or user name may replace a level. `level` counts from 0. */
export function isAllowedAt(level: number, value: string): boolean {
  return value !== '' && !/[+#]/.test(value) && !(level === 0 && value.startsWith('$'));
}

/**
 * The filter that an ACL topic really matches with; `null` if it matches nothing. Of invalid filters only `a/+/#x`
 * matches: as `a/+` when topics are compared, and in 2.1 for subscriptions (`lenient`).
 */
export function effectiveFilter(topic: string, lenient: boolean): string | null {
  if (filterProblem(topic) === null) return topic;
  if (!lenient) return null;
  const levels = topic.split('/');
  const bad = levels.findIndex((level, index) => index > 0 && levels[index - 1] === '+' && level.startsWith('#'));
  const start = levels.slice(0, bad).join('/');
  return bad > 0 && filterProblem(start) === null && !start.includes('#') ? start : null;
}

/**
 * Mosquitto before 2.1 (sub_matches_sub.c) removes a final `#` from both filters, so `#` and `/#` become the same empty
 * level. Wildcards match `$`, too.
 */
export function legacyFilterCovers(filter: string, subscription: string): boolean {
  if (filter === '#') return true;
  const rule = splitFinalHash(filter);
  const requested = splitFinalHash(subscription);
  if (requested.endsInHash && !rule.endsInHash) return false;
  if (rule.levels.length > requested.levels.length) return false;
  if (requested.levels.length > rule.levels.length && !rule.endsInHash) return false;
  return rule.levels.every((level, index) => level === '+' || level === requested.levels[index]);
}

function splitFinalHash(filter: string): { levels: string[]; endsInHash: boolean } {
  const levels = filter.split('/');
  if (levels.at(-1) !== '#') return { levels, endsInHash: false };
  levels.pop();
  return { levels: levels.length === 0 ? [''] : levels, endsInHash: true };
}

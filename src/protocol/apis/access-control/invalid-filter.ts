import type { AccessIdentity } from './access-explanation.ts';

/*
 * How Mosquitto 2.1 compares a pattern rule that is not a valid topic filter (libcommon/topic_common.c). If the
 * comparison notices that the rule is not valid, Mosquitto denies. A mismatch looks for a `#` in all of the rest.
 */

/** A level `%c` or `%u` that the comparison reaches. */
interface Placeholder {
  readonly name: keyof AccessIdentity;
  /** The level of the topic. */
  readonly value: string;
  /** Whether a client is denied whose value is a prefix of the level. */
  readonly deniesPrefixes: boolean;
}

interface Comparison {
  /** The placeholders in their order, until one that no client matches. */
  readonly placeholders: readonly Placeholder[];
  /** For clients that match all placeholders. `null`: the comparison notices that the rule is not valid. */
  readonly result: boolean | null;
}

/** `isFilter`: whether the topic is the filter of a subscription. */
export function compareInvalid(rule: string, topic: string, isFilter: boolean): Comparison {
  const placeholders: Placeholder[] = [];
  const is = (result: boolean | null): Comparison => ({ placeholders, result });
  if (rule === '') return is(null);
  if (rule.startsWith('$') !== topic.startsWith('$')) return is(false);
  // A mismatch looks for a `#` that another character follows, in all of the rest.
  const lastNoticed = rule.slice(0, -1).lastIndexOf('#');
  const isNoticedFrom = (index: number) => index <= lastNoticed;
  const endsAt = (index: number) => index === rule.length || (index + 2 === rule.length && rule.endsWith('/#'));
  const startsLevel = (index: number) => index === 0 || rule[index - 1] === '/';
  let at = 0;
  let position = 0;
  while (at < rule.length) {
    const name = startsLevel(at) ? placeholderAt(rule, at) : null;
    if (name !== null) {
      const end = topic.indexOf('/', position);
      const value = topic.slice(position, end === -1 ? topic.length : end);
      at += 2;
      position += value.length;
      if (value === '' || value === '+' || value === '#') return is(false);
      placeholders.push({ name, value, deniesPrefixes: isNoticedFrom(at) });
      if (position === topic.length && endsAt(at)) return is(true);
    }
    const char = rule[at];
    if (char !== undefined && char === topic[position]) {
      at += 1;
      position += 1;
      if (position < topic.length) continue;
      if (endsAt(at)) return is(true);
      if (at + 1 === rule.length && rule[at] === '+') return is(startsLevel(at) ? true : null);
    } else if (char === '+') {
      if (isFilter && topic[position] === '#') return is(false);
      if (!startsLevel(at) || (rule[at + 1] ?? '/') !== '/') return is(null);
      at += 1;
      while (position < topic.length && topic[position] !== '/') position += 1;
      if (position === topic.length && at === rule.length) return is(true);
    } else if (char === '#') return is(startsLevel(at) && at + 1 === rule.length ? true : null);
    else if (position === topic.length && rule[at - 1] === '+' && rule.startsWith('/#', at)) return is(true);
    else return is(isNoticedFrom(at) ? null : false);
  }
  return is(false);
}

/** Returns the result of the comparison for one client. A value that is not known matches no placeholder. */
export function resultFor({ placeholders, result }: Comparison, identity: AccessIdentity): boolean | null {
  for (const { name, value, deniesPrefixes } of placeholders) {
    const own = identity[name];
    if (own !== value) return deniesPrefixes && own !== null && isPrefix(value, own) ? null : false;
  }
  return result;
}

/** Not empty, and not the whole value. */
export const isPrefix = (value: string, prefix: string): boolean =>
  prefix !== '' && prefix !== value && value.startsWith(prefix);

function placeholderAt(rule: string, at: number): keyof AccessIdentity | null {
  const next = rule[at + 2] ?? '/';
  if (rule[at] !== '%' || next !== '/') return null;
  return rule[at + 1] === 'c' ? 'clientId' : rule[at + 1] === 'u' ? 'username' : null;
}

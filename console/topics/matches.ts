const SHARED = /^\$share\/[^/]+\//;

/** Whether a topic filter of a subscription matches a topic (MQTT 5, section 4.7). */
export function matches(filter: string, topic: string): boolean {
  const wanted = filter.replace(SHARED, '').split('/');
  const levels = topic.split('/');
  if (topic.startsWith('$') && (wanted[0] === '+' || wanted[0] === '#')) return false;
  const rest = wanted.indexOf('#');
  const named = rest === -1 ? wanted : wanted.slice(0, rest);
  const isLongEnough = rest === -1 ? levels.length === named.length : levels.length >= named.length;
  return isLongEnough && named.every((level, index) => level === '+' || level === levels[index]);
}

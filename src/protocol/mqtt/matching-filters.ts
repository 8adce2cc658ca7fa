/** Of levels; each one more doubles the number of filters. */
const DEEPEST = 7;

/** All filters that match a topic, shared ones left out; none for a topic of so many levels that they would be too many. */
export function matchingFilters(topic: string): string[] {
  const levels = topic.split('/');
  if (levels.length > DEEPEST) return [];
  const filters: string[] = [];
  let prefixes = [''];
  for (const level of levels) {
    filters.push(...prefixes.map((prefix) => `${prefix}#`));
    prefixes = prefixes.flatMap((prefix) => [`${prefix}${level}/`, `${prefix}+/`]);
  }
  filters.push(...prefixes.map((prefix) => prefix.slice(0, -1)), ...prefixes.map((prefix) => `${prefix}#`));
  // Those that begin with a wildcard do not match [MQTT-4.7.2-1].
  return topic.startsWith('$') ? filters.filter((filter) => !/^[+#]/.test(filter)) : filters.filter(Boolean);
}

/** Each level doubles the number of filters. */
const MAX_LEVELS = 7;

/** Returns all filters that match a topic, except shared ones. Empty if it has more than MAX_LEVELS levels. */
export function matchingFilters(topic: string): string[] {
  const levels = topic.split('/');
  if (levels.length > MAX_LEVELS) return [];
  const filters: string[] = [];
  let prefixes = [''];
  for (const level of levels) {
    filters.push(...prefixes.map((prefix) => `${prefix}#`));
    prefixes = prefixes.flatMap((prefix) => [`${prefix}${level}/`, `${prefix}+/`]);
  }
  filters.push(...prefixes.map((prefix) => prefix.slice(0, -1)), ...prefixes.map((prefix) => `${prefix}#`));
  // [MQTT-4.7.2-1]: filters that start with a wildcard do not match.
  return topic.startsWith('$') ? filters.filter((filter) => !/^[+#]/.test(filter)) : filters.filter(Boolean);
}

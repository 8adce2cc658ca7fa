/** Levels that topics usually have at most. Each further one counts DEEP_WEIGHT more. */
const USUAL_LEVELS = 16;
const DEEP_WEIGHT = 10;
/** Characters that count as a level, for their memory and because each of them is looked at. */
const LENGTH_OF_LEVEL = 32;
const SLASH = 47;

/**
 * What a topic filter costs a broker: a level takes about 170 bytes in the index of subscriptions. A message is compared with all filters
 * that match the beginning of its topic, of which there can be 2^n with n levels, so deep filters with wildcards cost most.
 */
export function filterWeight(filter: string): number {
  let levels = 1;
  for (let at = 0; at < filter.length; at += 1) if (filter.charCodeAt(at) === SLASH) levels += 1;
  return levels + DEEP_WEIGHT * Math.max(0, levels - USUAL_LEVELS) + Math.floor(filter.length / LENGTH_OF_LEVEL);
}

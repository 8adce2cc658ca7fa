import { filterProblem, levelProblem, topicProblem } from '../../../protocol/mqtt/topics.ts';

export const topicNameProblem = (topic: string): string | null => topicProblem(topic) ?? levelProblem(topic);

export const topicFilterProblem = (filter: string): string | null =>
  filterProblem(filter) ?? shareProblem(filter) ?? levelProblem(filter.replace(SHARE, ''));

/** What comes before the topic filter of a shared subscription (MQTT 5, 4.8.2). */
const SHARE = /^\$share\/[^/+#]+\/(?=.)/s;

/** [MQTT-4.8.2-1, MQTT-4.8.2-2] */
const shareProblem = (filter: string): string | null =>
  filter.startsWith('$share/') && !SHARE.test(filter) ? 'a shared subscription is $share/{name}/{filter}' : null;

/** Usual maximum number of levels. Each further level has an additional weight. */
const USUAL_LEVELS = 16;
const DEEP_WEIGHT = 20;
/** Additional weight of `+`. */
const WILDCARD_WEIGHT = 3;
/** Number of characters that weigh as much as a level, because of their memory and comparison. */
const LENGTH_OF_LEVEL = 32;
const SLASH = 47;
const PLUS = 43;

/** The cost of a topic filter: a level takes about 170 bytes, and 2^n filters of n levels may match a topic. */
export function filterWeight(filter: string): number {
  let levels = 1;
  let wildcards = 0;
  for (let at = 0; at < filter.length; at += 1) {
    const code = filter.charCodeAt(at);
    if (code === SLASH) levels += 1;
    else if (code === PLUS) wildcards += 1;
  }
  const length = Math.floor(filter.length / LENGTH_OF_LEVEL);
  return levels + DEEP_WEIGHT * Math.max(0, levels - USUAL_LEVELS) + WILDCARD_WEIGHT * wildcards + length;
}

import { filterProblem, topicProblem } from '../../protocol/mqtt/topics.ts';

/** Levels of a topic name or a topic filter. mqemitter 7 delivers by qlobber 8, which throws "too many words" beyond. */
const MAX_TOPIC_LEVELS = 100;

/** Why this broker cannot publish a topic name; `null`: it can. */
export function topicNameProblem(topic: string): string | null {
  return topicProblem(topic) ?? levelProblem(topic);
}

/** Why this broker cannot subscribe to a topic filter; `null`: it can. */
export function topicFilterProblem(filter: string): string | null {
  return filterProblem(filter) ?? levelProblem(filter);
}

function levelProblem(text: string): string | null {
  let levels = 1;
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) levels += 1;
  return levels > MAX_TOPIC_LEVELS ? `must not have more than ${MAX_TOPIC_LEVELS} levels` : null;
}

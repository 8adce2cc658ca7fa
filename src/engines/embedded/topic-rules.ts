import { filterProblem, topicProblem } from '../../protocol/mqtt/topics.ts';

/** Maximum number of levels of a topic. mqemitter 7 uses qlobber 8, which throws "too many words" for more. */
const MAX_TOPIC_LEVELS = 100;

export function topicNameProblem(topic: string): string | null {
  return topicProblem(topic) ?? levelProblem(topic);
}

export function topicFilterProblem(filter: string): string | null {
  return filterProblem(filter) ?? levelProblem(filter);
}

function levelProblem(text: string): string | null {
  let levels = 1;
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) levels += 1;
  return levels > MAX_TOPIC_LEVELS ? `must not have more than ${MAX_TOPIC_LEVELS} levels` : null;
}

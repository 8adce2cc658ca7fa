import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';

/** The fields that decide the path of messages. `active` is not among them, because it may change at any time. */
export type StreamEnds = Pick<StreamDefinition, 'name' | 'sourceTopic' | 'targetTopic'>;

/**
 * Returns the shortest loop that a new or changed stream would close, or `null` if there is none. The loop is a list of
 * names with the stream first and last. `changed` replaces the definition with its name. The time is linear in the
 * number of streams.
 */
export function streamLoop(definitions: readonly StreamEnds[], changed: StreamEnds): readonly string[] | null {
  if (changed.targetTopic === null) return null;
  const others = definitions.filter(({ name }) => name !== changed.name);
  const chain = reachedFrom([...others, changed], changed.targetTopic, changed.name);
  return chain === null ? null : [changed.name, ...chain];
}

/** The streams by which messages on `topic` reach the stream `name`, which is the last; else `null`. */
export function reachedFrom(definitions: readonly StreamEnds[], topic: string, name: string): readonly string[] | null {
  const unseen = new FilterTree<StreamEnds>();
  for (const stream of definitions) unseen.add(stream.sourceTopic, stream);
  const found: Step[] = [{ stream: null, before: null, topic }];
  // Breadth-first search: the list grows during the iteration, so the nearest streams come first.
  for (const step of found) {
    if (step.topic === null) continue;
    for (const stream of unseen.match(step.topic)) {
      const next = { stream, before: step, topic: stream.targetTopic };
      if (stream.name === name) return namesTo(next);
      // Each stream is visited once, even if several streams feed it.
      unseen.remove(stream.sourceTopic, stream);
      found.push(next);
    }
  }
  return null;
}

/** `chain` is a result of `streamLoop` or `reachedFrom`. */
export const loopReason = (chain: readonly string[]): string =>
  `would bring the stream its own messages: ${chain.join(' -> ')}`;

interface Step {
  readonly stream: StreamEnds | null;
  readonly before: Step | null;
  readonly topic: string | null;
}

function namesTo(last: Step): string[] {
  const names: string[] = [];
  for (let step: Step | null = last; step?.stream; step = step.before) names.push(step.stream.name);
  return names.reverse();
}

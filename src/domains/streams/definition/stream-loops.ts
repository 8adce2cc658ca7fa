import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';

/** What messages take from stream to stream; whether it is active matters to none of this: that may change at any time. */
export type StreamEnds = Pick<StreamDefinition, 'name' | 'sourceTopic' | 'targetTopic'>;

/**
 * The loop that a new or changed stream would close, as names of streams that feed one another, it first and last, by the
 * shortest way; null: none. `changed` takes the place of the one of its name. In time that grows with the number of streams.
 */
export function streamLoop(definitions: readonly StreamEnds[], changed: StreamEnds): readonly string[] | null {
  if (changed.targetTopic === null) return null;
  const others = definitions.filter(({ name }) => name !== changed.name);
  const chain = reachedFrom([...others, changed], changed.targetTopic, changed.name);
  return chain === null ? null : [changed.name, ...chain];
}

/** Names of the streams through which messages published on a topic come to the one with a name, it last; null: they do not. */
export function reachedFrom(definitions: readonly StreamEnds[], topic: string, name: string): readonly string[] | null {
  const unseen = new FilterTree<StreamEnds>();
  for (const stream of definitions) unseen.add(stream.sourceTopic, stream);
  const found: Step[] = [{ stream: null, before: null, topic }];
  // It grows while it is gone through: the nearest streams come first.
  for (const step of found) {
    if (step.topic === null) continue;
    for (const stream of unseen.match(step.topic)) {
      const next = { stream, before: step, topic: stream.targetTopic };
      if (stream.name === name) return namesTo(next);
      // Looked at once, however many feed it.
      unseen.remove(stream.sourceTopic, stream);
      found.push(next);
    }
  }
  return null;
}

/** `chain` as `streamLoop` and `reachedFrom` give it. */
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

import type { InputIssue } from '../../../platform/errors.ts';
import { refuseIssues } from '../../../protocol/control/issue-refusals.ts';
import { definitionIssues, replayIssues } from '../definition/definition-issues.ts';
import { loopReason, reachedFrom, streamLoop } from '../definition/stream-loops.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import { wirePlace } from './stream-wire.ts';

/**
 * Checks of commands against the model and the other streams of the broker. Refusals are INVALID with all issues, with
 * the field names of commands. Over MQTT only the text is sent; it has the first issue: `Invalid <path>: <reason>`.
 */
const refuse = (issues: readonly InputIssue[]): void =>
  refuseIssues(issues.map(({ path, reason }) => ({ path: wirePlace(path), reason })));

type Unchecked<T> = Readonly<Record<keyof T, unknown>>;

/** Refuses a stream that would receive its own output, directly or through other streams. */
export function checkedDefinition(
  candidate: Unchecked<StreamDefinition>,
  others: readonly StreamDefinition[],
): StreamDefinition {
  refuse(definitionIssues(candidate));
  const definition = candidate as StreamDefinition;
  const loop = streamLoop(others, definition);
  if (loop !== null) refuse([{ path: '/targetTopic', reason: loopReason(loop) }]);
  return definition;
}

/** Refuses a replay whose messages the stream would store again: it would never end, or duplicate all messages. */
export function checkedReplay(
  candidate: Unchecked<ReplayRequest>,
  { name, persist }: StreamDefinition,
  all: readonly StreamDefinition[],
): ReplayRequest {
  refuse(replayIssues(candidate));
  const request = candidate as ReplayRequest;
  const loop = persist ? reachedFrom(all, request.topic, name) : null;
  if (loop !== null) refuse([{ path: '/topic', reason: loopReason(loop) }]);
  return request;
}

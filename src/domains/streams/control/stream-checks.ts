import { refuseIssues } from '../../../protocol/control/issue-refusals.ts';
import { definitionIssues, replayIssues, WIRE_NAMES } from '../definition/definition-issues.ts';
import { loopReason, reachedFrom, streamLoop } from '../definition/stream-loops.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';

/**
 * Checks of commands against the model and the other streams of the broker. Refusals are INVALID with all issues, with
 * the field names of commands. Over MQTT only the text is sent; it has the first issue: `Invalid <path>: <reason>`.
 */
const NAMES = { names: WIRE_NAMES };

type Unchecked<T> = Readonly<Record<keyof T, unknown>>;

/** Refuses a stream that would receive its own output, directly or through other streams. */
export function checkedDefinition(
  candidate: Unchecked<StreamDefinition>,
  others: readonly StreamDefinition[],
): StreamDefinition {
  refuseIssues(definitionIssues(candidate, NAMES));
  const definition = candidate as StreamDefinition;
  const loop = streamLoop(others, definition);
  if (loop !== null) refuseIssues([{ path: '/targettopic', reason: loopReason(loop) }]);
  return definition;
}

/** Refuses a replay whose messages the stream would store again: it would never end, or duplicate all messages. */
export function checkedReplay(
  candidate: Unchecked<ReplayRequest>,
  { name, persist }: StreamDefinition,
  all: readonly StreamDefinition[],
): ReplayRequest {
  refuseIssues(replayIssues(candidate, NAMES));
  const request = candidate as ReplayRequest;
  const loop = persist ? reachedFrom(all, request.topic, name) : null;
  if (loop !== null) refuseIssues([{ path: '/replaytopic', reason: loopReason(loop) }]);
  return request;
}

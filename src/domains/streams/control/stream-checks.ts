import { type InputIssue, issuesInfo } from '../../../platform/errors.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { definitionIssues, replayIssues, WIRE_NAMES } from '../definition/definition-issues.ts';
import { loopReason, reachedFrom, streamLoop } from '../definition/stream-loops.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';

/**
 * What commands may ask for, beside the other streams of the broker. Refusals are INVALID with all issues, in places as commands
 * name them; the text, which is all there is over MQTT, has the first one: `Invalid <path>: <reason>`.
 */
const NAMES = { names: WIRE_NAMES };

/** Values that come unchecked. */
type Unchecked<T> = Readonly<Record<keyof T, unknown>>;

/** A stream that could feed itself, directly or through others, is none to be made. */
export function checkedDefinition(
  candidate: Unchecked<StreamDefinition>,
  others: readonly StreamDefinition[],
): StreamDefinition {
  refuse(definitionIssues(candidate, NAMES));
  // What has no issues is one.
  const definition = candidate as StreamDefinition;
  const loop = streamLoop(others, definition);
  if (loop !== null) refuse([{ path: '/targettopic', reason: loopReason(loop) }]);
  return definition;
}

/** A replay whose messages the stream would store again would never end, or end with everything twice. */
export function checkedReplay(
  candidate: Unchecked<ReplayRequest>,
  { name, persist }: StreamDefinition,
  all: readonly StreamDefinition[],
): ReplayRequest {
  refuse(replayIssues(candidate, NAMES));
  const request = candidate as ReplayRequest;
  const loop = persist ? reachedFrom(all, request.topic, name) : null;
  if (loop !== null) refuse([{ path: '/replaytopic', reason: loopReason(loop) }]);
  return request;
}

function refuse(issues: readonly InputIssue[]): void {
  const [first] = issues;
  if (first === undefined) return;
  throw new ControlRefusal(`Invalid ${first.path}: ${first.reason}`, { code: 'INVALID', info: issuesInfo(issues) });
}

import {
  createStream,
  listStreams,
  modifyStream,
  replayStream,
  STREAM_API,
} from '../../data-plane/streams/control/stream-control.ts';
import { loopReason, reachedFrom, streamLoop } from '../../data-plane/streams/definition/stream-loops.ts';
import type { StreamDefinition } from '../../data-plane/streams/model/stream-definition.ts';
import type { ReplayRequest } from '../../data-plane/streams/model/stream-replay.ts';
import { invalid } from '../../platform/errors.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';

/*
 * Commands that refuse a stream that would receive its own output, even if the broker would accept it.
 * Errors: INVALID with the chain, and those of the command.
 */

type Changes = Partial<Omit<StreamDefinition, 'name'>>;

export async function createLoopFree(broker: BrokerRecord, controls: ControlCaller, definition: StreamDefinition) {
  await refuseLoop(broker, controls, definition.name, definition);
  await createStream(controls, definition);
}

export async function modifyLoopFree(broker: BrokerRecord, controls: ControlCaller, name: string, changes: Changes) {
  await refuseLoop(broker, controls, name, changes);
  await modifyStream(controls, name, changes);
}

export async function replayLoopFree(
  broker: BrokerRecord,
  controls: ControlCaller,
  name: string,
  request: ReplayRequest,
): Promise<void> {
  const all = (await foreignStreams(broker, controls)) ?? [];
  const isStored = all.some((known) => known.name === name && known.persist);
  refuse('topic', isStored ? reachedFrom(all, request.topic, name) : null);
  await replayStream(controls, name, request);
}

async function refuseLoop(broker: BrokerRecord, controls: ControlCaller, name: string, changes: Changes) {
  if (changes.sourceTopic === undefined && changes.targetTopic == null) return;
  const all = await foreignStreams(broker, controls);
  if (all === null) return;
  const before = all.find((known) => known.name === name);
  const { sourceTopic = before?.sourceTopic, targetTopic = before?.targetTopic ?? null } = changes;
  refuse('targetTopic', sourceTopic === undefined ? null : streamLoop(all, { name, sourceTopic, targetTopic }));
}

/** The streams that the broker itself runs; `null` if a plugin of this service does, which checks loops itself. */
async function foreignStreams({ type }: BrokerRecord, controls: ControlCaller): Promise<StreamDefinition[] | null> {
  if (type === 'CLOUD' || (await controls.capability(STREAM_API)).provider !== 'BROKER') return null;
  const { items } = await listStreams(controls);
  return items.map(({ definition }) => definition);
}

function refuse(field: string, loop: readonly string[] | null): void {
  if (loop !== null) throw invalid([{ path: `input.${field}`, reason: loopReason(loop) }]);
}

import type { ControlCaller } from '../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import { createStream, modifyStream, replayStream, STREAM_API } from './control/stream-control.ts';
import type { StreamDefinition } from './model/stream-definition.ts';
import type { ReplayRequest } from './model/stream-replay.ts';
import { refuseLoop, refuseReplayLoop } from './stream-input.ts';

/*
 * Commands that refuse a stream that would receive its own output, even if the broker would accept it.
 * Errors: INVALID with the chain, and those of the command.
 */

export async function createLoopFree(
  broker: BrokerRecord,
  controls: ControlCaller,
  definition: StreamDefinition,
): Promise<void> {
  if (await isForeign(broker, controls)) await refuseLoop(controls, definition.name, definition);
  await createStream(controls, definition);
}

export async function modifyLoopFree(
  broker: BrokerRecord,
  controls: ControlCaller,
  name: string,
  changes: Partial<Omit<StreamDefinition, 'name'>>,
): Promise<void> {
  if (await isForeign(broker, controls)) await refuseLoop(controls, name, changes);
  await modifyStream(controls, name, changes);
}

export async function replayLoopFree(
  broker: BrokerRecord,
  controls: ControlCaller,
  name: string,
  request: ReplayRequest,
): Promise<void> {
  if (await isForeign(broker, controls)) await refuseReplayLoop(controls, name, request);
  await replayStream(controls, name, request);
}

/** Whether the broker itself runs the streams. Plugins of this service check loops themselves. */
async function isForeign({ type }: BrokerRecord, controls: ControlCaller): Promise<boolean> {
  return type !== 'CLOUD' && (await controls.capability(STREAM_API)).provider === 'BROKER';
}

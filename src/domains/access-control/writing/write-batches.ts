import type { PlannedCommand } from './access-plan.ts';

export interface Pending {
  readonly index: number;
  readonly commands: readonly PlannedCommand[];
}

export interface BatchEntry {
  readonly index: number;
  readonly command: PlannedCommand;
}

/** Up to this number, the commands of one change stay together, even above `writesPerPayload`. */
const MAX_TOGETHER = 100;
/** A payload with its envelope is limited to 500 kB. */
const MAX_BYTES = 450_000;
const OVERHEAD = 80;

/**
 * The commands of one change are in one payload, so that no client sees an intermediate state. Commands that disconnect
 * this service are separate, because Mosquitto 2.0 then sends no response to the whole payload.
 */
export function nextBatch(pending: Iterable<Pending>, writesPerPayload: number): BatchEntry[] {
  const batch: BatchEntry[] = [];
  let bytes = 0;
  let kicksGateway: boolean | null = null;
  for (const { index, commands } of pending) {
    if (commands.length === 0) continue;
    const kicks = commands.some((command) => command.kicks.gateway);
    kicksGateway ??= kicks;
    const together = fitting(commands, Math.max(MAX_TOGETHER, writesPerPayload));
    const size = together.reduce((sum, command) => sum + bytesOf(command), 0);
    const fits = batch.length + together.length <= writesPerPayload && bytes + size <= MAX_BYTES;
    if (batch.length > 0 && (!fits || kicks !== kicksGateway)) break;
    for (const command of together) batch.push({ index, command });
    bytes += size;
    if (together.length < commands.length) break;
  }
  return batch;
}

function fitting(commands: readonly PlannedCommand[], maximum: number): readonly PlannedCommand[] {
  let bytes = 0;
  let count = 0;
  for (const command of commands) {
    bytes += bytesOf(command);
    if (count > 0 && (count === maximum || bytes > MAX_BYTES)) break;
    count += 1;
  }
  return commands.slice(0, count);
}

const bytesOf = ({ fields }: PlannedCommand): number => Buffer.byteLength(JSON.stringify(fields)) + OVERHEAD;

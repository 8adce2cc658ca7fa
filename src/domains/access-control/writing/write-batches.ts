import type { PlannedCommand } from './access-plan.ts';

/** What is still to be sent of one change. */
export interface Pending {
  /** Place of the change in the caller's list. */
  readonly index: number;
  readonly commands: readonly PlannedCommand[];
}

/** One command with the place of its change. */
export interface BatchEntry {
  readonly index: number;
  readonly command: PlannedCommand;
}

/** The commands of one change ride together up to here, even where a broker takes fewer writes at once. */
const MAX_TOGETHER = 100;
/** Below the 500 kB of a payload, with room for the envelope. */
const MAX_BYTES = 450_000;
/** Envelope and correlation data of one command. */
const OVERHEAD = 80;

/**
 * The commands of the next payload: of as many changes as fit, in their order, and never empty while there is one.
 *
 * The commands of one change are kept together (a rule replaced, a role taken from its holders and deleted: nobody sees half of
 * it). What disconnects this service does not ride with what does not: Mosquitto 2.0 then answers nothing of the payload.
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

/** At least one. */
function fitting(commands: readonly PlannedCommand[], most: number): readonly PlannedCommand[] {
  let bytes = 0;
  let count = 0;
  for (const command of commands) {
    bytes += bytesOf(command);
    if (count > 0 && (count === most || bytes > MAX_BYTES)) break;
    count += 1;
  }
  return commands.slice(0, count);
}

const bytesOf = ({ fields }: PlannedCommand): number => Buffer.byteLength(JSON.stringify(fields)) + OVERHEAD;

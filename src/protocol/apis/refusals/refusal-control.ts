import type { CapabilityReason } from '../../control/capability-reason.ts';
import type { ControlCommand, ControlEvent } from '../../control/envelope.ts';
import { fieldOf } from '../../control/fields.ts';
import { ControlRefusal } from '../../control/plugin.ts';
import type { RefusalKind } from './refusal.ts';
import type { RefusalLog } from './refusal-log.ts';

/**
 * The `brokergraph/refusals` control API reports what a broker has refused. The embedded broker serves it; for
 * Mosquitto this service does, from the log of the broker.
 *
 * `listRefusals` (`after`, `before`, `count`: at most MAX_REFUSALS_PAGE) returns entries, newest first, with the state
 * of the log. `refusalsChanged` events report that there are new refusals, without them, so that a flood costs no more
 * than a few events per second.
 */
export const REFUSALS_API = 'brokergraph/refusals';

export const MAX_REFUSALS_PAGE = 100;

/** What the provider of the API can report. */
export interface RefusalCoverage {
  readonly kinds: readonly RefusalKind[];
  /** Why other kinds or details are not reported, and what would help; `null` if everything is reported. */
  readonly limit: CapabilityReason | null;
}

export const refusalsChanged = ({ id, sequence }: RefusalLog): ControlEvent => ({
  type: 'event',
  event: 'refusalsChanged',
  log: id,
  sequence,
});

/** Executes a command of the API. */
export function executeRefusalCommand(log: RefusalLog, { kinds, limit }: RefusalCoverage, command: ControlCommand) {
  if (command.command.toLowerCase() !== 'listrefusals') throw new ControlRefusal('Unknown command');
  const { id, sequence, since, size, dropped } = log;
  const refusals = log.list({
    ...numberIn(command, 'after'),
    ...numberIn(command, 'before'),
    count: Math.min(numberIn(command, 'count').count ?? MAX_REFUSALS_PAGE, MAX_REFUSALS_PAGE),
  });
  const limited = { limit: limit?.text ?? null, limitCode: limit?.code ?? null };
  return { log: id, sequence, since, totalCount: size, dropped, kinds, ...limited, refusals };
}

/** Values of a wrong type are ignored. */
function numberIn<Name extends string>(command: ControlCommand, name: Name): { readonly [Key in Name]?: number } {
  const value = fieldOf(command, name);
  return typeof value === 'number' && value >= 0 ? ({ [name]: value } as { [Key in Name]: number }) : {};
}

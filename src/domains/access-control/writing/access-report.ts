import type { ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { PlannedCommand } from './access-plan.ts';
import type { PreviousValues } from './previous-values.ts';

/**
 * UNCHANGED: nothing was sent. REJECTED: nothing was applied, also if a read after a lost response shows this. UNKNOWN:
 * the response was lost, and a read shows no result (a password); or it was success, and the state differs.
 */
export const CHANGE_OUTCOMES = ['APPLIED', 'UNCHANGED', 'PARTLY_APPLIED', 'REJECTED', 'UNKNOWN', 'PLANNED'] as const;
export type ChangeOutcome = (typeof CHANGE_OUTCOMES)[number];

const COMMAND_STATES = ['PLANNED', 'APPLIED', 'REJECTED', 'UNKNOWN', 'NOT_SENT'] as const;
export type CommandState = (typeof COMMAND_STATES)[number];

export interface CommandReport {
  readonly command: string;
  /** The fields as sent; passwords are replaced with `***`. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly state: CommandState;
  readonly error: ServiceError | null;
}

export interface ChangeReport {
  readonly outcome: ChangeOutcome;
  readonly commands: readonly CommandReport[];
  /** For the audit. */
  readonly before: PreviousValues | null;
  readonly error: ServiceError | null;
}

export interface BlastRadius {
  readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
  /** Connected or not, sorted. */
  readonly usernames: readonly string[];
  readonly anonymous: boolean;
  readonly gateway: boolean;
  readonly isComplete: boolean;
}

/** The outcome on one node of a cluster whose nodes share their access control. */
export interface NodeReport {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly outcome: ChangeOutcome;
  /** `null` if the changes are applied. Otherwise they are retried after the broker reconnects. */
  readonly error: ServiceError | null;
}

export interface WriteReport {
  /** The worst outcome of `changes`. REJECTED together with APPLIED is PARTLY_APPLIED. */
  readonly outcome: ChangeOutcome;
  readonly changes: readonly ChangeReport[];
  readonly blastRadius: BlastRadius;
  readonly nodes?: readonly NodeReport[];
}

export interface ChangeProgress {
  commands: readonly CommandProgress[];
  before: PreviousValues | null;
  error: ServiceError | null;
}

export interface CommandProgress {
  readonly command: PlannedCommand;
  state: CommandState;
  error: ServiceError | null;
}

export function* reportOf(changes: readonly ChangeProgress[], blastRadius: BlastRadius): SlicedTask<WriteReport> {
  const reports: ChangeReport[] = [];
  for (const change of changes) yield void reports.push(changeReportOf(change));
  return { outcome: worstOf(new Set(reports.map(({ outcome }) => outcome))), changes: reports, blastRadius };
}

function changeReportOf({ commands, before, error }: ChangeProgress): ChangeReport {
  return {
    outcome: outcomeOf(commands, error),
    commands: commands.map(commandReportOf),
    before,
    error: error ?? commands.find((command) => command.error !== null)?.error ?? null,
  };
}

function commandReportOf({ command: { command, fields }, state, error }: CommandProgress): CommandReport {
  return { command, fields: 'password' in fields ? { ...fields, password: '***' } : fields, state, error };
}

function outcomeOf(commands: readonly CommandProgress[], error: ServiceError | null): ChangeOutcome {
  if (commands.length === 0) return error ? 'REJECTED' : 'UNCHANGED';
  const states = new Set(commands.map(({ state }) => state));
  if (states.has('PLANNED')) return 'PLANNED';
  if (states.has('UNKNOWN')) return 'UNKNOWN';
  if (!states.has('APPLIED')) return 'REJECTED';
  return states.size === 1 ? 'APPLIED' : 'PARTLY_APPLIED';
}

function worstOf(outcomes: ReadonlySet<ChangeOutcome>): ChangeOutcome {
  const has = (outcome: ChangeOutcome) => outcomes.has(outcome);
  if (has('UNKNOWN')) return 'UNKNOWN';
  if (has('PARTLY_APPLIED') || (has('REJECTED') && has('APPLIED'))) return 'PARTLY_APPLIED';
  if (has('REJECTED')) return 'REJECTED';
  if (has('PLANNED')) return 'PLANNED';
  return has('APPLIED') ? 'APPLIED' : 'UNCHANGED';
}

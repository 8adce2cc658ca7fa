import type { ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { PlannedCommand } from './access-plan.ts';
import type {
  BlastRadius,
  ChangeOutcome,
  ChangeReport,
  CommandReport,
  CommandState,
  WriteReport,
} from './access-report.ts';

export interface ChangeProgress {
  readonly commands: readonly CommandProgress[];
  readonly error: ServiceError | null;
}

interface CommandProgress {
  readonly command: PlannedCommand;
  readonly state: CommandState;
  readonly error: ServiceError | null;
}

export function* reportOf(changes: readonly ChangeProgress[], blastRadius: BlastRadius): SlicedTask<WriteReport> {
  const reports: ChangeReport[] = [];
  for (const change of changes) yield void reports.push(changeReportOf(change));
  return { outcome: worstOf(new Set(reports.map(({ outcome }) => outcome))), changes: reports, blastRadius };
}

function changeReportOf({ commands, error }: ChangeProgress): ChangeReport {
  return {
    outcome: outcomeOf(commands, error),
    commands: commands.map(commandReportOf),
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

import type { ProblemRecord } from '../storage/problem-cache.ts';
import type { ProblemKind, ProblemSeverity } from './problem-kinds.ts';

/** All given conditions must be met. */
export interface ProblemFilter {
  readonly kinds?: readonly ProblemKind[] | null | undefined;
  readonly severities?: readonly ProblemSeverity[] | null | undefined;
  readonly brokerIds?: readonly string[] | null | undefined;
  /** Global ids of subjects. */
  readonly subjectIds?: readonly string[] | null | undefined;
}

/** Conditions of lists, which silences do not have. `null`: open and closed, and so on. */
export interface ProblemListFilter extends ProblemFilter {
  readonly projectId?: string | null | undefined;
  readonly isOpen?: boolean | null | undefined;
  readonly isAcknowledged?: boolean | null | undefined;
  readonly isSilenced?: boolean | null | undefined;
  /** The problem opened or closed at this time or later, and before `to`. */
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
}

export function matchesProblem(
  { kinds, severities, brokerIds, subjectIds }: ProblemFilter,
  { kind, severity, brokerId, subjectId }: ProblemRecord,
): boolean {
  return (
    (kinds == null || kinds.includes(kind)) &&
    (severities == null || severities.includes(severity)) &&
    (brokerIds == null || (brokerId !== null && brokerIds.includes(brokerId))) &&
    (subjectIds == null || (subjectId !== null && subjectIds.includes(subjectId)))
  );
}

/** Whether the problem opened or closed in the time of the filter. */
export function changedWithin({ from, to }: ProblemListFilter, { openedAt, closedAt }: ProblemRecord): boolean {
  const isWithin = (at: Date | null) => at !== null && (from == null || at >= from) && (to == null || at < to);
  return isWithin(openedAt) || isWithin(closedAt);
}

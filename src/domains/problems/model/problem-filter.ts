import type { InputIssue } from '../../../platform/errors.ts';
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

export type ProblemMatcher = (problem: ProblemRecord) => boolean;

/** Compiled for many problems, because a filter may have a thousand ids. */
export function problemMatcher({ kinds, severities, brokerIds, subjectIds }: ProblemFilter): ProblemMatcher {
  const isAmong = (list: readonly (string | null)[] | null | undefined): ((value: string | null) => boolean) => {
    if (list == null) return () => true;
    const values = new Set(list);
    return (value) => values.has(value);
  };
  const [ofKind, ofSeverity] = [isAmong(kinds), isAmong(severities)];
  const [ofBroker, ofSubject] = [isAmong(brokerIds), isAmong(subjectIds)];
  return ({ kind, severity, brokerId, subjectId }) =>
    ofKind(kind) && ofSeverity(severity) && ofBroker(brokerId) && ofSubject(subjectId);
}

/** Maximum number of ids of a condition of a list. */
export const MAX_FILTER_IDS = 1_000;

export const filterIssues = (filter: ProblemFilter): InputIssue[] =>
  (['brokerIds', 'subjectIds'] as const).flatMap((name) =>
    (filter[name]?.length ?? 0) > MAX_FILTER_IDS
      ? [{ path: `filter.${name}`, reason: `must have at most ${MAX_FILTER_IDS} ids` }]
      : [],
  );

/** Whether the problem opened or closed in the time of the filter. */
export function changedWithin({ from, to }: ProblemListFilter, { openedAt, closedAt }: ProblemRecord): boolean {
  const isWithin = (at: Date | null) => at !== null && (from == null || at >= from) && (to == null || at < to);
  return isWithin(openedAt) || isWithin(closedAt);
}

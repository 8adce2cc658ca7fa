import { seesBroker, seesWholeProject, type Viewer } from '../../platform/auth/viewer.ts';
import { invalid } from '../../platform/errors.ts';
import { type ListConnection, orderedConnection, type PageArguments } from '../../platform/paging.ts';
import type { SlicedTask } from '../../platform/scheduling/sliced-task.ts';
import type { ListOrder, Place } from '../../platform/sorting/places.ts';
import {
  changedWithin,
  filterIssues,
  type ProblemListFilter,
  type ProblemMatcher,
  problemMatcher,
} from './model/problem-filter.ts';
import { severityRank } from './model/problem-kinds.ts';
import type { ProblemRecord } from './storage/problem-cache.ts';

export type ProblemSortField = 'OPENED_AT' | 'CLOSED_AT' | 'SEVERITY' | 'COUNT';

export interface ProblemListQuery extends PageArguments {
  readonly filter?: ProblemListFilter | null | undefined;
  /** Default: those that were opened last come first. */
  readonly orderBy?:
    | { readonly field: ProblemSortField; readonly order: ListOrder<string>['direction'] }
    | null
    | undefined;
}

export interface ProblemCounts {
  readonly critical: number;
  readonly warning: number;
  readonly notice: number;
  readonly silenced: number;
}

type Silenced = ProblemMatcher;

/** Problems of a broker, of a project for viewers of the whole project, and of the service for root administrators. */
export function seesProblem(viewer: Viewer, { projectId, brokerId }: ProblemRecord): boolean {
  if (projectId === null) return viewer.isRootAdmin;
  if (brokerId !== null) return seesBroker(viewer, { id: brokerId, projectId });
  return seesWholeProject(viewer, projectId);
}

/** Errors: INVALID. */
export function* problemPage(
  problems: Iterable<ProblemRecord>,
  { filter, orderBy, ...page }: ProblemListQuery,
  isSilenced: Silenced,
): SlicedTask<ListConnection<ProblemRecord>> {
  const issues = filterIssues(filter ?? {});
  if (issues.length > 0) throw invalid(issues);
  const matches = listMatcher(filter ?? {}, isSilenced);
  const found: ProblemRecord[] = [];
  for (const problem of problems) {
    if (matches(problem)) found.push(problem);
    yield;
  }
  const { field, order: direction } = orderBy ?? { field: 'OPENED_AT', order: 'desc' };
  return orderedConnection(found, page, { field: `Problem.${field}`, direction }, VALUES[field]);
}

function listMatcher(filter: ProblemListFilter, silenced: Silenced): ProblemMatcher {
  const { projectId, isOpen = true, isAcknowledged, isSilenced } = filter;
  const matches = problemMatcher(filter);
  return (problem) =>
    (projectId == null || problem.projectId === projectId) &&
    (isOpen === null || (problem.openKey !== null) === isOpen) &&
    (isAcknowledged == null || (problem.acknowledgedAt !== null) === isAcknowledged) &&
    matches(problem) &&
    changedWithin(filter, problem) &&
    (isSilenced == null || silenced(problem) === isSilenced);
}

const VALUES: Readonly<Record<ProblemSortField, (problem: ProblemRecord) => Place['value']>> = {
  OPENED_AT: ({ openedAt }) => openedAt.getTime(),
  CLOSED_AT: ({ closedAt }) => closedAt?.getTime() ?? null,
  SEVERITY: ({ severity }) => severityRank(severity),
  COUNT: ({ count }) => count,
};

/** Numbers of open problems. Silenced ones are counted only as such. */
export function* countProblems(problems: Iterable<ProblemRecord>, isSilenced: Silenced): SlicedTask<ProblemCounts> {
  const counts = { critical: 0, warning: 0, notice: 0, silenced: 0 };
  for (const problem of problems) {
    yield;
    if (isSilenced(problem)) counts.silenced += 1;
    else if (problem.severity === 'CRITICAL') counts.critical += 1;
    else if (problem.severity === 'WARNING') counts.warning += 1;
    else counts.notice += 1;
  }
  return counts;
}

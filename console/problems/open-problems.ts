import { useEffect, useState } from 'react';
import { follow, type Live } from '../graph/live.ts';
import { useService } from '../graph/service.ts';
import { PROBLEMS, type ProblemsEvent, SERVICE_PROBLEMS, type ShownProblem } from './operations.ts';

export interface OpenProblems {
  /** The known ones: the most urgent first, silenced ones last. */
  readonly problems: readonly ShownProblem[];
  /** Whether the problems of each project are known. */
  readonly isComplete: boolean;
  readonly isLive: boolean;
  /** Changes when problems close, so that lists of closed ones are read again. */
  readonly lastClosing: number;
}

interface Followed {
  readonly problems: ReadonlyMap<string, ShownProblem>;
  /** Since the page was opened, in milliseconds. */
  readonly lastClosing: number;
}

/** In place of the id of a project. */
const SERVICE = '';
const UNKNOWN: Live<Followed> = { state: null, isLive: false };

/** The open problems of projects, live; with `hasService` also those of the service itself. */
export function useOpenProblems(projectIds: readonly string[], hasService = false): OpenProblems {
  const { live } = useService();
  const [feeds, setFeeds] = useState<ReadonlyMap<string, Live<Followed>>>(new Map());
  const sources = hasService ? [SERVICE, ...projectIds] : projectIds;
  // The list is created at each rendering, so it is compared by its text.
  const key = JSON.stringify(sources);
  useEffect(() => {
    setFeeds(new Map());
    const stops = sources.map((source) => {
      const onChange = (change: (before: Live<Followed>) => Live<Followed>) =>
        setFeeds((before) => new Map(before).set(source, change(before.get(source) ?? UNKNOWN)));
      if (source !== SERVICE)
        return follow(live, PROBLEMS, { projectId: source }, { eventOf: ({ problems }) => problems, apply, onChange });
      return follow(live, SERVICE_PROBLEMS, {}, { eventOf: ({ serviceProblems }) => serviceProblems, apply, onChange });
    });
    return () => {
      for (const stop of stops) stop();
    };
  }, [live, key]);
  const known = [...feeds.values()].flatMap(({ state }) => state ?? []);
  return {
    problems: known.flatMap(({ problems }) => [...problems.values()]).sort(compare),
    isComplete: known.length === sources.length,
    isLive: feeds.size === sources.length && [...feeds.values()].every(({ isLive }) => isLive),
    lastClosing: Math.max(0, ...known.map((followed) => followed.lastClosing)),
  };
}

function apply(before: Followed | null, event: ProblemsEvent): Followed {
  const problems = new Map(before?.problems);
  for (const id of event.removed) problems.delete(id);
  for (const problem of event.problems) {
    if (problem.closedAt === null) problems.set(problem.id, problem);
    else problems.delete(problem.id);
  }
  // Before a snapshot, problems may have closed unseen.
  const hasClosed =
    before === null || event.removed.length > 0 || event.problems.some(({ closedAt }) => closedAt !== null);
  return { problems, lastClosing: hasClosed ? performance.now() : before.lastClosing };
}

export const SEVERITIES = ['CRITICAL', 'WARNING', 'NOTICE'] as const;

function compare(one: ShownProblem, other: ShownProblem): number {
  return (
    Number(one.isSilenced) - Number(other.isSilenced) ||
    SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity) ||
    Date.parse(other.openedAt) - Date.parse(one.openedAt)
  );
}

/** Those to which no silence applies. */
export const unsilenced = (problems: readonly ShownProblem[]): ShownProblem[] =>
  problems.filter(({ isSilenced }) => !isSilenced);

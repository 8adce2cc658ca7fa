import { useMemo } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { Problem } from '../ui/problem.tsx';
import { Attention } from './attention.tsx';
import { PROBLEM } from './operations.ts';
import { problemTexts } from './texts.ts';

const EVERY_MS = 10_000;

const MOST_URGENT = graphql(
  `query MostUrgentProblems {
  problems(filter: { isSilenced: false }, orderBy: { field: SEVERITY, order: DESC }, first: 50) {
    totalCount
    nodes { ...ShownProblem }
  }
}`,
  [PROBLEM],
);

interface PolledProps {
  readonly projectCount: number;
  /** How many problems are shown at first. */
  readonly few: number;
  /** Whether all brokers are connected. */
  readonly isWell: boolean;
}

/** The most urgent problems of all projects, and as of when they are, for people with many projects. */
export function PolledAttention({ projectCount, few, isWell }: PolledProps) {
  const text = useTexts(problemTexts);
  const { data, error } = useQuery(MOST_URGENT, {}, EVERY_MS);
  // Each response is another object.
  const asOf = useMemo(() => new Date().toISOString(), [data]);
  if (data === null) return <Problem error={error} />;
  const { nodes, totalCount } = data.problems;
  const open = { problems: nodes, isComplete: true, isLive: error === null, lastClosing: 0 };
  return (
    <>
      <Attention open={open} total={totalCount} few={few} isWell={isWell} />
      <p className="quiet">
        {text('notFollowed', { count: projectCount })} <Age asOf={asOf} isStale={error !== null} />
      </p>
    </>
  );
}

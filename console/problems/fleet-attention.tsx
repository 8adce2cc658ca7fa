import { useMemo } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Attention } from './attention.tsx';
import { useOpenProblems } from './open-problems.ts';
import { PROBLEM } from './operations.ts';
import { problemTexts } from './texts.ts';

/** Each is a subscription. The service allows 100 on one connection, and other parts of the screen have some, too. */
const MAX_LIVE = 50;
/** Other people create projects. */
const EVERY_MS = 30_000;
/** The problems of more projects are not live. */
const PROBLEMS_MS = 10_000;

const PROJECTS = graphql(`query ProjectsWithProblems($first: Int!) {
  projects(first: $first) { totalCount nodes { id } }
}`);
const MOST_URGENT = graphql(
  `query MostUrgentProblems {
  problems(filter: { isSilenced: false }, orderBy: { field: SEVERITY, order: DESC }, first: 50) {
    totalCount
    nodes { ...ShownProblem }
  }
}`,
  [PROBLEM],
);

interface FleetAttentionProps {
  /** How many problems are shown at first. */
  readonly few: number;
  /** Whether all brokers are connected. A lost connection is a problem only after some seconds. */
  readonly isWell: boolean;
}

/** What is wrong now in all projects of the person, and for root administrators in the service. */
export function FleetAttention(props: FleetAttentionProps) {
  const { data, error } = useQuery(PROJECTS, { first: MAX_LIVE }, EVERY_MS);
  if (data === null) return <Refusal error={error} />;
  const { nodes, totalCount } = data.projects;
  if (totalCount > nodes.length) return <Polled projectCount={totalCount} {...props} />;
  return <Followed projectIds={nodes.map(({ id }) => id)} {...props} />;
}

interface FollowedProps extends FleetAttentionProps {
  readonly projectIds: readonly string[];
}

function Followed({ projectIds, few, isWell }: FollowedProps) {
  const { isRootAdmin } = useViewer();
  return <Attention open={useOpenProblems(projectIds, isRootAdmin)} few={few} isWell={isWell} />;
}

interface PolledProps extends FleetAttentionProps {
  readonly projectCount: number;
}

function Polled({ projectCount, few, isWell }: PolledProps) {
  const text = useTexts(problemTexts);
  const { data, error } = useQuery(MOST_URGENT, {}, PROBLEMS_MS);
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

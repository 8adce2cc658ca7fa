import { Suspense } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { later } from '../ui/later.ts';
import { Refusal } from '../ui/problem.tsx';
import { Attention } from './attention.tsx';
import { useOpenProblems } from './open-problems.ts';

/** Each is a subscription. The service allows 100 on one connection, and other parts of the screen have some, too. */
const MAX_LIVE = 50;
/** Other people create projects. */
const EVERY_MS = 30_000;

const PROJECTS = graphql(`query ProjectsWithProblems($first: Int!) {
  projects(first: $first) { totalCount nodes { id } }
}`);

/** Few people have so many projects. */
const PolledAttention = later(async () => (await import('./polled-attention.tsx')).PolledAttention);

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
  if (totalCount > nodes.length)
    return (
      <Suspense>
        <PolledAttention projectCount={totalCount} {...props} />
      </Suspense>
    );
  return <Followed projectIds={nodes.map(({ id }) => id)} {...props} />;
}

interface FollowedProps extends FleetAttentionProps {
  readonly projectIds: readonly string[];
}

function Followed({ projectIds, few, isWell }: FollowedProps) {
  const { isRootAdmin } = useViewer();
  return <Attention open={useOpenProblems(projectIds, isRootAdmin)} few={few} isWell={isWell} />;
}

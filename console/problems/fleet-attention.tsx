import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { Refusal } from '../ui/problem.tsx';
import { Attention } from './attention.tsx';
import { useOpenProblems } from './open-problems.ts';
import { problemTexts } from './texts.ts';

/** Each is a subscription. */
const MAX_PROJECTS = 500;
/** Other people create projects. */
const EVERY_MS = 30_000;

const PROJECTS = graphql(`query ProjectsWithProblems($first: Int!) {
  projects(first: $first) { totalCount nodes { id } }
}`);

interface FleetAttentionProps {
  /** How many problems are shown at first. */
  readonly few: number;
  /** Whether all brokers are connected. A lost connection is a problem only after some seconds. */
  readonly isWell: boolean;
}

/** What is wrong now in all projects of the person, and for root administrators in the service. */
export function FleetAttention(props: FleetAttentionProps) {
  const { data, error } = useQuery(PROJECTS, { first: MAX_PROJECTS }, EVERY_MS);
  if (data === null) return <Refusal error={error} />;
  const { nodes, totalCount } = data.projects;
  return <Followed projectIds={nodes.map(({ id }) => id)} total={totalCount} {...props} />;
}

interface FollowedProps extends FleetAttentionProps {
  readonly projectIds: readonly string[];
  readonly total: number;
}

function Followed({ projectIds, total, few, isWell }: FollowedProps) {
  const text = useTexts(problemTexts);
  const { isRootAdmin } = useViewer();
  const open = useOpenProblems(projectIds, isRootAdmin);
  return (
    <>
      {total > projectIds.length && (
        <p className="note">{text('notAllProjects', { shown: projectIds.length, total })}</p>
      )}
      <Attention open={open} few={few} isWell={isWell} />
    </>
  );
}

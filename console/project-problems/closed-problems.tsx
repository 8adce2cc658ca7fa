import { CircleCheck } from 'lucide-react';
import { useEffect, useId } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { CLOSED } from '../problems/operations.ts';
import { ProblemList } from '../problems/problem-list.tsx';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { closedFilter, type Wanted } from './problem-filter.ts';
import { screenTexts } from './screen-texts.ts';

interface ClosedProblemsProps {
  readonly projectId: string;
  readonly wanted: Wanted;
  /** The list is read again when it changes. */
  readonly revision: number;
}

/** Problems that are over, the last one first. */
export function ClosedProblems({ projectId: id, wanted, revision }: ClosedProblemsProps) {
  const text = useTexts(screenTexts);
  const heading = useId();
  const { page, offset, onPage } = usePage();
  const variables = { id, filter: closedFilter(wanted), offset };
  const { data, error, renew } = useQuery(CLOSED, variables);
  useEffect(renew, [revision]);
  const problems = data?.project?.problems;
  if (!problems) return <Problem error={error} />;
  const { nodes, totalCount } = problems;
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>{text('closedOnes', { count: totalCount })}</h2>
      <Refusal error={error} />
      {nodes.length === 0 && <Empty icon={CircleCheck} title={text('noneClosed')} />}
      {nodes.length > 0 && <ProblemList problems={nodes} within="PROJECT" isStale={false} />}
      <Pager page={page} total={totalCount} onPage={onPage} />
      <CopyAs document={CLOSED} variables={variables} />
    </section>
  );
}

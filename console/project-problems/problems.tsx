import { CircleCheck } from 'lucide-react';
import { useId } from 'react';
import { PROBLEMS } from '../problems/operations.ts';
import { ProblemList } from '../problems/problem-list.tsx';
import { useProjectProblems } from '../problems/project-problems.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { Problem } from '../ui/problem.tsx';
import { ClosedProblems } from './closed-problems.tsx';
import { isWanted, type Wanted, wantedIn } from './problem-filter.ts';
import { ProblemFilterForm } from './problem-filter-form.tsx';
import { screenTexts } from './screen-texts.ts';
import './style.css';

/** The problems of a project: those that are open, live, and those that are over. */
export function Problems() {
  const { id } = useProject();
  const { values } = useAddressValues();
  const { lastClosing } = useProjectProblems();
  const wanted = wantedIn(values);
  return (
    <>
      <ProblemFilterForm projectId={id} />
      {wanted.state !== 'closed' && <Open projectId={id} wanted={wanted} />}
      {wanted.state !== 'open' && <ClosedProblems projectId={id} wanted={wanted} revision={lastClosing} />}
    </>
  );
}

function Open({ projectId, wanted }: { readonly projectId: string; readonly wanted: Wanted }) {
  const text = useTexts(screenTexts);
  const heading = useId();
  const { problems, isComplete, isLive } = useProjectProblems();
  const shown = problems.filter((problem) => isWanted(wanted, problem));
  if (!isComplete) return <Problem error={null} />;
  return (
    <section aria-labelledby={heading}>
      <header className="screen">
        <h2 id={heading}>{text('openOnes', { count: shown.length })}</h2>
        <LiveMark isLive={isLive} />
        <CopyAs document={PROBLEMS} variables={{ projectId }} />
      </header>
      {problems.length === 0 && (
        <Empty icon={CircleCheck} title={text('noneOpen')}>
          <p>{text('noneOpenText')}</p>
        </Empty>
      )}
      {problems.length > 0 && shown.length === 0 && (
        <p className="quiet">{text('noneMatch', { count: problems.length })}</p>
      )}
      {shown.length > 0 && <ProblemList problems={shown} within="PROJECT" isStale={!isLive} />}
    </section>
  );
}

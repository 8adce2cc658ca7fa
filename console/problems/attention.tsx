import { CircleCheck } from 'lucide-react';
import { useId, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { type OpenProblems, unsilenced } from './open-problems.ts';
import type { ShownProblem } from './operations.ts';
import { ProblemList } from './problem-list.tsx';
import { problemTexts } from './texts.ts';

/** At most this many are shown; the count is of all. */
const MAX_SHOWN = 50;

interface AttentionProps {
  readonly open: OpenProblems;
  /** How many there are, if `open` has only the most urgent ones. Default: those that are shown. */
  readonly total?: number;
  /** Which of them are shown. Default: all. */
  readonly isShown?: (problem: ShownProblem) => boolean;
  readonly isOnBroker?: boolean;
  /** Whether all is well if there is no problem. Default: yes. */
  readonly isWell?: boolean;
  /** How many are shown at first. Default: 50. */
  readonly few?: number;
}

/** What is wrong now, the most urgent first. */
export function Attention(props: AttentionProps) {
  const { open, isShown = () => true, isOnBroker = false, isWell = true, few = MAX_SHOWN } = props;
  const text = useTexts(problemTexts);
  const heading = useId();
  const [hasAll, setHasAll] = useState(false);
  const problems = unsilenced(open.problems).filter(isShown);
  const count = props.total ?? problems.length;
  if (problems.length === 0) {
    if (isOnBroker) return null;
    if (!open.isComplete) return <Problem error={null} />;
    if (!isWell) return null;
    return (
      <p className="all-well">
        <CircleCheck aria-hidden="true" /> {text('allWell')}
      </p>
    );
  }
  return (
    <section className="attention" aria-labelledby={heading}>
      <h2 id={heading}>
        {text('needsAttention')} <span className="count">{count}</span>
      </h2>
      <ProblemList
        problems={problems.slice(0, hasAll ? MAX_SHOWN : few)}
        within={isOnBroker ? 'BROKER' : null}
        isStale={!open.isLive}
      />
      {!hasAll && problems.length > few && (
        <button type="button" className="all" onClick={() => setHasAll(true)}>
          {text('showMore', { count: Math.min(problems.length, MAX_SHOWN) - few })}
        </button>
      )}
      {hasAll && count > MAX_SHOWN && <p className="quiet">{text('andMore', { count: count - MAX_SHOWN })}</p>}
    </section>
  );
}

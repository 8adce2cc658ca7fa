import type { ShownProblem } from './operations.ts';
import { ProblemItem, type Within } from './problem-item.tsx';
import './style.css';

interface ProblemListProps {
  readonly problems: readonly ShownProblem[];
  readonly within: Within;
  /** Whether the list may be out of date. */
  readonly isStale: boolean;
}

/** Problems in their order. */
export function ProblemList({ problems, within, isStale }: ProblemListProps) {
  return (
    <ul className={isStale ? 'problem-list stale' : 'problem-list'}>
      {problems.map((problem) => (
        <ProblemItem key={problem.id} problem={problem} within={within} />
      ))}
    </ul>
  );
}

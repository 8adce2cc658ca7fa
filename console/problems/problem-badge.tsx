import { CircleAlert, Info, TriangleAlert } from 'lucide-react';
import { useTexts } from '../texts/texts.ts';
import type { ShownProblem } from './operations.ts';
import { problemTexts } from './texts.ts';
import './style.css';

export type Counts = Readonly<Record<'critical' | 'warning' | 'notice', number>>;

const KINDS = [
  { key: 'critical', severity: 'CRITICAL', Icon: CircleAlert },
  { key: 'warning', severity: 'WARNING', Icon: TriangleAlert },
  { key: 'notice', severity: 'NOTICE', Icon: Info },
] as const;

/** Numbers of open problems by their severity, of which only the most urgent are shown. Nothing without problems. */
export function ProblemBadge({ counts, most = 2 }: { readonly counts: Counts; readonly most?: number }) {
  const text = useTexts(problemTexts);
  return KINDS.filter(({ key }) => counts[key] > 0)
    .slice(0, most)
    .map(({ key, severity, Icon }) => (
      <span key={key} className={`problem-badge ${severity}`} title={text('openOf', { severity: text(severity) })}>
        <Icon aria-hidden="true" />
        {counts[key]}
        <span className="hidden"> {text(severity)}</span>
      </span>
    ));
}

export const countsOf = (problems: readonly Pick<ShownProblem, 'severity'>[]): Counts => ({
  critical: problems.filter(({ severity }) => severity === 'CRITICAL').length,
  warning: problems.filter(({ severity }) => severity === 'WARNING').length,
  notice: problems.filter(({ severity }) => severity === 'NOTICE').length,
});

import { Link } from 'wouter';
import type { Mark } from '../charts/line.ts';
import { useTexts } from '../texts/texts.ts';
import { Time } from '../ui/time.tsx';
import { chartsTexts } from './texts.ts';

interface MarkListProps {
  /** The newest first. */
  readonly marks: readonly Mark[];
  readonly isComplete: boolean;
  /** Whether the person may read the audit, from which the marks are. */
  readonly mayRead: boolean;
}

/** The marks of the charts in words. */
export function MarkList({ marks, isComplete, mayRead }: MarkListProps) {
  const text = useTexts(chartsTexts);
  return (
    <>
      {marks.length > 0 && (
        <details className="marks">
          <summary>{text('changes', { count: marks.length })}</summary>
          <ul>
            {marks.map(({ key, at, text: what, address }) => (
              <li key={key}>
                <Time at={new Date(at).toISOString()} /> {address === null ? what : <Link href={address}>{what}</Link>}
              </li>
            ))}
          </ul>
          {!isComplete && <p className="quiet">{text('olderChanges')}</p>}
        </details>
      )}
      {!mayRead && <p className="quiet">{text('noChanges')}</p>}
    </>
  );
}

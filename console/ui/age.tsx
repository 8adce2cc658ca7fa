import { useTexts, useTimes } from '../texts/texts.ts';
import { useZonedTimes } from './use-zone.ts';

interface AgeProps {
  readonly asOf: string | null | undefined;
  readonly isStale?: boolean | null;
}

/** How old data is that is not live. */
export function Age({ asOf, isStale = false }: AgeProps) {
  const text = useTexts();
  const timeOf = useTimes();
  const zonedTimeOf = useZonedTimes();
  if (!asOf) return null;
  return (
    <span className={isStale ? 'quiet stale' : 'quiet'} title={zonedTimeOf(asOf)}>
      {text('readAt', { time: timeOf(asOf) })}
      {isStale ? `, ${text('stale')}` : ''}
    </span>
  );
}

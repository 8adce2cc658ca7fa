import { useTexts, useTimes } from '../texts/texts.ts';

interface AgeProps {
  readonly asOf: string | null | undefined;
  readonly isStale?: boolean | null;
}

/** How old data is that is not live. */
export function Age({ asOf, isStale = false }: AgeProps) {
  const text = useTexts();
  const timeOf = useTimes();
  if (!asOf) return null;
  return (
    <span className={isStale ? 'quiet stale' : 'quiet'} title={asOf}>
      {text('readAt', { time: timeOf(asOf) })}
      {isStale ? `, ${text('stale')}` : ''}
    </span>
  );
}

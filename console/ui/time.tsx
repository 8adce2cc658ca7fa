import { useTimes } from '../texts/texts.ts';
import { useZonedTimes } from './use-zone.ts';

/** A moment in the zone of the viewer; its zone in a tooltip. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  const timeOf = useTimes();
  const zonedTimeOf = useZonedTimes();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={zonedTimeOf(at)}>
      {timeOf(at)}
    </time>
  );
}

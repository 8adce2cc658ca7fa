import { useEffect, useState } from 'react';
import { useLanguage, useTimes } from '../texts/texts.ts';
import { useZonedTimes } from './use-zone.ts';

interface TimeProps {
  readonly at: string | null | undefined;
  /** Whether the distance to now is shown, as in lists. Default: the time itself. */
  readonly isRelative?: boolean;
}

/** A moment in the zone of the viewer; the time with its zone in a tooltip. */
export function Time({ at, isRelative = false }: TimeProps) {
  const timeOf = useTimes();
  const zonedTimeOf = useZonedTimes();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={zonedTimeOf(at)}>
      {isRelative ? <Distance at={at} /> : timeOf(at)}
    </time>
  );
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;
/** How often the text is renewed, in milliseconds. */
const EVERY_MS = 5_000;

/** "3 min ago" or "in 3 days". Screen readers read the time itself, too, because they have no tooltip. */
function Distance({ at }: { readonly at: string }) {
  const language = useLanguage();
  const zonedTimeOf = useZonedTimes();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const exact = Date.parse(at) - now;
  // The clock of the service may be slightly ahead.
  const distance = exact > 0 && exact < EVERY_MS ? 0 : exact;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1_000];
  const format = new Intl.RelativeTimeFormat(language, { style: 'short' });
  // Without a distance "0 sec. ago".
  const count = Math.trunc(distance / length) || -0;
  return (
    <>
      {format.format(count, unit)}
      <span className="hidden"> ({zonedTimeOf(at)})</span>
    </>
  );
}

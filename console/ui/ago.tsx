import { useEffect, useState } from 'react';
import { useLanguage } from '../texts/texts.ts';
import { useZonedTimes } from './use-zone.ts';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;
/** How often the text is renewed, in milliseconds. */
const EVERY_MS = 5_000;

/** How long ago something was: "3 min ago". The time itself, with its zone, is shown when it is pointed at. */
export function Ago({ at }: { readonly at: string }) {
  const language = useLanguage();
  const timeOf = useZonedTimes();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const past = Math.max(0, now - Date.parse(at));
  const [unit, length] = UNITS.find(([, size]) => past >= size) ?? ['second', 1_000];
  const text = new Intl.RelativeTimeFormat(language, { style: 'short' }).format(-Math.floor(past / length), unit);
  return (
    <time dateTime={at} title={timeOf(at)}>
      {text}
    </time>
  );
}

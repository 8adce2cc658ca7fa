import { useMemo } from 'react';
import { useLanguage } from '../texts/texts.ts';

interface TimeTexts {
  readonly DATE: (time: number) => string;
  readonly MINUTE: (time: number) => string;
  readonly SECOND: (time: number) => string;
  /** Date and time of day, with seconds if steps are shorter than a minute. */
  readonly moment: (time: number, stepMs: number) => string;
}

const MINUTE_MS = 60_000;

/** Times of charts, in the zone of the viewer and in 24 hours. */
export function useTimeTexts(): TimeTexts {
  const language = useLanguage();
  return useMemo(() => {
    const formatOf = (options: Intl.DateTimeFormatOptions) => {
      const format = new Intl.DateTimeFormat(language, { ...options, hourCycle: 'h23' });
      return (time: number) => format.format(time);
    };
    const day = { day: 'numeric', month: 'short' } as const;
    const minute = { hour: '2-digit', minute: '2-digit' } as const;
    const second = { ...minute, second: '2-digit' } as const;
    const [short, long] = [formatOf({ ...day, ...minute }), formatOf({ ...day, ...second })];
    return {
      DATE: formatOf(day),
      MINUTE: formatOf(minute),
      SECOND: formatOf(second),
      moment: (time, stepMs) => (stepMs < MINUTE_MS ? long : short)(time),
    };
  }, [language]);
}

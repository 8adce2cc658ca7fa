import { useContext } from 'react';
import { Language } from '../texts/texts.ts';

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export type Format = (number: number) => string;

/** Numbers of bytes with a unit, in steps of 1,000. */
export function useBytes(): Format {
  const language = useContext(Language);
  return (bytes) => {
    const step = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1);
    const format = new Intl.NumberFormat(language, { maximumFractionDigits: step === 0 ? 0 : 1 });
    return `${format.format(bytes / 1_000 ** step)}\u00a0${BYTE_UNITS[step]}`;
  };
}

/** The time of day, or the date and the time, for axes of charts. */
export function useClock(hasDays: boolean): (time: string | number) => string {
  const style = hasDays ? ({ dateStyle: 'short', timeStyle: 'short' } as const) : ({ timeStyle: 'medium' } as const);
  const format = new Intl.DateTimeFormat(useContext(Language), { ...style, hourCycle: 'h23' });
  return (time) => format.format(new Date(time));
}

import { useContext } from 'react';
import { Language } from '../texts/texts.ts';

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const SECONDS = { day: 86_400, hour: 3_600, minute: 60, second: 1 } as const;

export type Format = (number: number) => string;

/** Numbers of bytes with a unit, in steps of 1,000. */
export function useBytes(): Format {
  const language = useContext(Language);
  return (bytes) => {
    const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1);
    const unit = BYTE_UNITS[step] ?? 'byte';
    const unitDisplay = step === 0 ? 'long' : 'short';
    const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay, maximumFractionDigits: 1 });
    return format.format(bytes / 1_000 ** step);
  };
}

/** A time in seconds, in its two largest units. */
export function useDurations(): Format {
  const language = useContext(Language);
  return (seconds) => {
    const parts: string[] = [];
    let left = Math.floor(seconds);
    for (const [unit, size] of Object.entries(SECONDS)) {
      const count = Math.floor(left / size);
      left -= count * size;
      if (count === 0 && (parts.length > 0 || size > 1)) continue;
      parts.push(new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count));
    }
    return parts.slice(0, 2).join(' ');
  };
}

/** The time of day, for axes of charts. */
export function useClock(): (time: string | number) => string {
  const format = new Intl.DateTimeFormat(useContext(Language), { timeStyle: 'medium' });
  return (time) => format.format(new Date(time));
}

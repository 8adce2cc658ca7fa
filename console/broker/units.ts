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

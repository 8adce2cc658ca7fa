import { useLanguage } from '../texts/texts.ts';

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

export type Format = (number: number) => string;

/** Numbers of bytes with a unit, in steps of 1,000. */
export function useBytes(): Format {
  const language = useLanguage();
  return (bytes) => {
    const step = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1);
    const format = new Intl.NumberFormat(language, {
      style: 'unit',
      unit: BYTE_UNITS[step],
      // The narrow one is a symbol in all languages, but often without a space.
      unitDisplay: 'narrow',
      maximumFractionDigits: step === 0 ? 0 : 1,
    });
    const parts = format.formatToParts(bytes / 1_000 ** step).filter(({ type }) => type !== 'literal');
    return parts.map(({ type, value }) => (type === 'unit' ? `\u00a0${value}` : value)).join('');
  };
}

import { useLanguage } from '../texts/texts.ts';

const SECONDS = { day: 86_400, hour: 3_600, minute: 60, second: 1 } as const;

/** A time in seconds, in its two largest units. */
export function useDurations(): (seconds: number) => string {
  const language = useLanguage();
  return (seconds) => {
    const parts: string[] = [];
    let left = Math.floor(seconds);
    for (const [unit, size] of Object.entries(SECONDS)) {
      const count = Math.floor(left / size);
      left -= count * size;
      if (count === 0 && (parts.length > 0 || size > 1)) continue;
      parts.push(new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(count));
    }
    return parts.slice(0, 2).join(' ');
  };
}

import { useLanguage, useTimes } from '../texts/texts.ts';

/** The name of the zone of the viewer. */
export const useZone = (): string => new Intl.DateTimeFormat(useLanguage()).resolvedOptions().timeZone;

export function useZonedTimes(): (time: string | number) => string {
  const language = useLanguage();
  const timeOf = useTimes();
  const format = new Intl.DateTimeFormat(language, { timeZoneName: 'short' });
  return (time) => {
    const zone = format.formatToParts(new Date(time)).find(({ type }) => type === 'timeZoneName');
    return `${timeOf(time)} ${zone?.value ?? ''}`;
  };
}

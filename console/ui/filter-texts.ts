import { catalogue } from '../texts/texts.ts';

export const filterTexts = catalogue({
  en: {
    from: 'From',
    to: 'To',
    apply: 'Filter',
    clear: 'Clear the filter',
    ranges: 'Time',
    zone: 'Times are in the zone {zone}.',
    lastHour: 'Last hour',
    lastNight: 'Last night',
    lastNightMeans: 'From 20:00 of yesterday to 8:00 of today',
    sinceFriday: 'Since Friday',
    lastWeek: '7 days',
  },
  de: {
    from: 'Von',
    to: 'Bis',
    apply: 'Filtern',
    clear: 'Filter leeren',
    ranges: 'Zeitraum',
    zone: 'Zeiten in der Zone {zone}.',
    lastHour: 'Letzte Stunde',
    lastNight: 'Letzte Nacht',
    lastNightMeans: 'Von gestern 20:00 bis heute 8:00',
    sinceFriday: 'Seit Freitag',
    lastWeek: '7 Tage',
  },
});

import { catalogue } from '../texts/texts.ts';

export const filterTexts = catalogue('ui/filter', {
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
});

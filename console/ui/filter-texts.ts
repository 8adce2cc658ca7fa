import { catalogue } from '../texts/texts.ts';

export const filterTexts = catalogue('ui/filter', {
  from: 'From',
  to: 'To',
  apply: 'Apply',
  clear: 'Clear the filter',
  showAll: 'Show all',
  more: 'More filters',
  moreInUse: 'More filters ({count})',
  ranges: 'Time',
  anyTime: 'Any time',
  now: 'now',
  calendar: 'Days',
  openCalendar: 'Open the calendar',
  previousMonth: 'Previous month',
  nextMonth: 'Next month',
  lastHour: 'Last hour',
  lastNight: 'Last night',
  lastNightMeans: 'From 20:00 of yesterday to 8:00 of today',
  sinceFriday: 'Since Friday',
  lastWeek: '7 days',
});

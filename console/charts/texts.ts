import { catalogue } from '../texts/texts.ts';

export const chartTexts = catalogue('charts', {
  range: 'Time of the charts',
  '10m': '10 min',
  '1h': '1 h',
  '24h': '24 h',
  '7d': '7 days',
  '30d': '30 days',
  lastNight: 'Last night',
  fromTo: 'From – to',
  last: 'now',
  noValues: 'no values in this time',
  time: 'Time',
  minOf: '{name}, lowest',
  maxOf: '{name}, highest',
  asTable: '{title} as a table',
  summary: 'From {from} to {to}. {lines}',
  gaps: 'Times without values: {count}.',
  line: '{title}: lowest {low}, highest {high}, last {now}.',
  lineUnknown: '{title}: unknown.',
  keys: 'Arrow keys move the crosshair, plus and minus change the zoom, page up and page down move the time.',
  furtherMarks: 'and {count} more',
});

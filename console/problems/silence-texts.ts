import { catalogue } from '../texts/texts.ts';

export const silenceTexts = catalogue('problems/silence', {
  silences: 'Silences',
  begin: 'Begin a silence',
  beginUntil: 'Silence until {time}',
  silenceOf: 'Silence problems of {name}',
  silenceMeans:
    'Until then nobody is notified that such a problem opened, and it does not count as one that needs attention. Problems still open, close and are recorded.',
  why: 'Why',
  whyExample: 'Maintenance of hall B',
  until: 'Until',
  untilHint: 'In your time zone, within a year',
  hour: '1 hour',
  fourHours: '4 hours',
  day: '1 day',
  monday: 'Monday 6:00',
  silentUntil: 'Silent until {time}.',
  what: 'Which problems',
  who: 'By',
  since: 'Since',
  end: 'End',
  endOf: 'End the silence: {reason}',
  endMeans: 'Its open problems need attention again from now on. Nobody is notified of those that opened meanwhile.',
  ended: 'The silence is over.',
  noSilences: 'Nothing is silent',
  noSilencesText: 'During maintenance, a silence keeps problems that you expect from alarming others.',
});

import { problemTexts } from '../problems/texts.ts';
import { catalogue } from '../texts/texts.ts';

/** Of the screen of a project. */
export const screenTexts = catalogue(
  'project-problems/screen',
  {
    state: 'State',
    open: 'open',
    closed: 'closed',
    all: 'open and closed',
    severity: 'Severity',
    kind: 'Kind',
    acknowledged: 'Acknowledged',
    silenced: 'Silenced',
    openOnes: 'Open problems ({count})',
    closedOnes: 'Closed problems ({count})',
    noneOpen: 'Nothing is wrong',
    noneOpenText: 'A problem appears here when it begins, and goes when its cause is gone.',
    noneMatch: 'None of the {count} open problems matches the filter.',
    noneClosed: 'No closed problem matches the filter.',
  },
  problemTexts,
);

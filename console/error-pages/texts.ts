import { catalogue } from '../texts/texts.ts';

export const failureTexts = catalogue({
  en: {
    screenFailed: 'This screen has a fault. The other screens still work.',
    reload: 'Load the page again',
    noScreen: 'There is no screen at this address.',
  },
  de: {
    screenFailed: 'Diese Ansicht hat einen Fehler. Die anderen Ansichten funktionieren weiterhin.',
    reload: 'Seite neu laden',
    noScreen: 'Unter dieser Adresse gibt es keine Ansicht.',
  },
});

import { catalogue } from '../texts/texts.ts';

export const failureTexts = catalogue('error-pages', {
  screenFailed: 'This screen has a fault. The other screens still work.',
  reload: 'Load the page again',
  noScreen: 'There is no screen at this address.',
});

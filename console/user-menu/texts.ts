import { catalogue } from '../texts/texts.ts';

export const userMenuTexts = catalogue('user-menu', {
  userMenu: 'Account and display',
  ownAccount: 'Your account',
  theme: 'Theme',
  system: 'like the system',
  light: 'light',
  dark: 'dark',
  keys: 'Keys',
  keySearch: 'Search',
  keyFilter: 'To the filter of the screen, or the search',
  keyRows: 'To the next or the previous row of a table',
  keyTabs: 'To the previous or the next screen of a broker or project, or page of a list',
  keyKeys: 'Show the keys',
  keyChoose: 'Choose a result of the search',
  keyOpen: 'Open the chosen result, or run the action of a form',
  keyClose: 'Close a dialog or menu',
  keyTab: 'To the next link, button or table; arrows scroll a table',
});

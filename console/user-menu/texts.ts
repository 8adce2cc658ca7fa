import { catalogue } from '../texts/texts.ts';

export const userMenuTexts = catalogue({
  en: {
    userMenu: 'Account and display',
    ownAccount: 'Your account',
    theme: 'Theme',
    system: 'like the system',
    light: 'light',
    dark: 'dark',
    keys: 'Keys',
    keySearch: 'Search',
    keyKeys: 'Show the keys',
    keyChoose: 'Choose a result of the search',
    keyOpen: 'Open the chosen result, or run the action of a form',
    keyClose: 'Close a dialog or menu',
    keyTab: 'To the next link, button or table; arrows scroll a table',
  },
  de: {
    userMenu: 'Konto und Darstellung',
    ownAccount: 'Ihr Konto',
    theme: 'Farben',
    system: 'wie das System',
    light: 'hell',
    dark: 'dunkel',
    keys: 'Tasten',
    keySearch: 'Suche',
    keyKeys: 'Tasten zeigen',
    keyChoose: 'Ein Ergebnis der Suche wählen',
    keyOpen: 'Das gewählte Ergebnis öffnen oder die Aktion eines Formulars ausführen',
    keyClose: 'Einen Dialog oder ein Menü schließen',
    keyTab: 'Zum nächsten Link, Knopf oder zur nächsten Tabelle; Pfeile verschieben eine Tabelle',
  },
});

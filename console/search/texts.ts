import { catalogue } from '../texts/texts.ts';

export const searchTexts = catalogue({
  en: {
    search: 'Search',
    searchFor: 'Screens, projects, brokers, clients, accounts, topics',
    results: 'Results',
    screen: 'Screen',
    ownAccount: 'Your account',
    searching: 'Searching …',
    nothingFound: 'Nothing was found.',
    typeMore: 'With two characters or more, the search covers clients, accounts and topics.',
    searchBound:
      'Clients, accounts and topics: searched at {searched} of {brokers} brokers, at most {count} of each kind per broker.',
    keys: 'Keys',
    keySearch: 'Search',
    keyKeys: 'Show the keys',
    keyChoose: 'Choose a result of the search',
    keyOpen: 'Open the chosen result, or run the action of a form',
    keyClose: 'Close a dialog',
    keyTab: 'To the next link, button or table; arrows scroll a table',
  },
  de: {
    search: 'Suche',
    searchFor: 'Ansichten, Projekte, Broker, Clients, Konten, Topics',
    results: 'Ergebnisse',
    screen: 'Ansicht',
    ownAccount: 'Ihr Konto',
    searching: 'Suche läuft …',
    nothingFound: 'Nichts gefunden.',
    typeMore: 'Ab zwei Zeichen sucht die Suche auch Clients, Konten und Topics.',
    searchBound:
      'Clients, Konten und Topics: gesucht bei {searched} von {brokers} Brokern, höchstens {count} jeder Art je Broker.',
    keys: 'Tasten',
    keySearch: 'Suche',
    keyKeys: 'Tasten zeigen',
    keyChoose: 'Ein Ergebnis der Suche wählen',
    keyOpen: 'Das gewählte Ergebnis öffnen oder die Aktion eines Formulars ausführen',
    keyClose: 'Einen Dialog schließen',
    keyTab: 'Zum nächsten Link, Knopf oder zur nächsten Tabelle; Pfeile verschieben eine Tabelle',
  },
});

import { catalogue } from '../texts/texts.ts';

export const searchTexts = catalogue({
  en: {
    search: 'Search',
    searchFor: 'Screens, projects, brokers, clients, accounts, groups, roles, topics',
    results: 'Results',
    screen: 'Screen',
    group: 'Group',
    role: 'Role',
    ownAccount: 'Your account',
    searching: 'Searching …',
    nothingFound: 'Nothing was found.',
    typeMore: 'With two characters or more, the search covers clients, accounts, groups, roles and topics.',
    searchBound:
      'Clients, accounts, groups, roles and topics: searched at {searched} of {brokers} brokers, at most {count} of each kind per broker.',
    notReachable: 'Not reachable, so not searched: {names}',
  },
  de: {
    search: 'Suche',
    searchFor: 'Ansichten, Projekte, Broker, Clients, Konten, Gruppen, Rollen, Topics',
    results: 'Ergebnisse',
    screen: 'Ansicht',
    group: 'Gruppe',
    role: 'Rolle',
    ownAccount: 'Ihr Konto',
    searching: 'Suche läuft …',
    nothingFound: 'Nichts gefunden.',
    typeMore: 'Ab zwei Zeichen sucht die Suche auch Clients, Konten, Gruppen, Rollen und Topics.',
    searchBound:
      'Clients, Konten, Gruppen, Rollen und Topics: gesucht bei {searched} von {brokers} Brokern, höchstens {count} jeder Art je Broker.',
    notReachable: 'Nicht erreichbar und deshalb nicht durchsucht: {names}',
  },
});

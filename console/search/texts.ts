import { catalogue } from '../texts/texts.ts';

export const searchTexts = catalogue({
  en: {
    search: 'Search',
    searchFor: 'Screens, projects, brokers, clients, denied clients, accounts, roles, topics, certificates, people …',
    denied: 'Denied',
    clientId: 'Look up client id',
    certificate: 'Certificate',
    person: 'Person',
    results: 'Results',
    screen: 'Screen',
    group: 'Group',
    role: 'Role',
    ownAccount: 'Your account',
    searching: 'Searching …',
    nothingFound: 'Nothing was found.',
    typeMore:
      'With two characters or more, the search covers what brokers have: clients, denied clients, accounts, groups, roles and topics.',
    searchBound:
      'Clients, denied clients, accounts, groups, roles and topics: searched at {searched} of {brokers} brokers, at most {count} of each kind per broker.',
    notReachable: 'Not reachable, so not searched: {names}',
  },
  de: {
    search: 'Suche',
    searchFor: 'Ansichten, Projekte, Broker, Clients, Abgewiesene, Konten, Rollen, Topics, Zertifikate, Personen …',
    denied: 'Abgewiesen',
    clientId: 'Client-Id nachschlagen',
    certificate: 'Zertifikat',
    person: 'Person',
    results: 'Ergebnisse',
    screen: 'Ansicht',
    group: 'Gruppe',
    role: 'Rolle',
    ownAccount: 'Ihr Konto',
    searching: 'Suche läuft …',
    nothingFound: 'Nichts gefunden.',
    typeMore:
      'Ab zwei Zeichen sucht die Suche auch, was Broker haben: Clients, Abgewiesene, Konten, Gruppen, Rollen und Topics.',
    searchBound:
      'Clients, Abgewiesene, Konten, Gruppen, Rollen und Topics: gesucht bei {searched} von {brokers} Brokern, höchstens {count} jeder Art je Broker.',
    notReachable: 'Nicht erreichbar und deshalb nicht durchsucht: {names}',
  },
});

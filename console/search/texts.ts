import { catalogue } from '../texts/texts.ts';

export const searchTexts = catalogue('search', {
  search: 'Search',
  searchFor: 'Screens, projects, brokers, clients, denied clients, accounts, roles, topics, certificates, people …',
  disconnect: 'Disconnect',
  why: 'Why',
  silence: 'Silence',
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
    'A verb before a name acts: disconnect a client, why a client or an account may use a topic, silence a broker. With two characters or more, the search covers what brokers have: clients, denied clients, accounts, groups, roles and topics.',
  searchBound:
    'Clients, denied clients, accounts, groups, roles and topics: searched at {searched} of {brokers} brokers, at most {count} of each kind per broker.',
  notReachable: 'Not reachable, so not searched: {names}',
});

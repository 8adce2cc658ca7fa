import { catalogue } from '../texts/texts.ts';

export const fleetTexts = catalogue({
  en: {
    brokersOf: 'Brokers of {project}',
    received: 'Messages received/s',
    sent: 'Messages delivered/s',
    refused: 'Refused',
    certificates: 'Certificates',
    daysLeft: '{days} days left',
    numbersFrom: 'Numbers from {time}',
    notConnected: '{count} of {total} not connected',
    noBrokers: 'There is no broker yet. Add one with its address:',
    filterBrokers: 'Filter by name',
    moreProjects: 'Show more of {total} projects',
    noMatch: 'No broker matches the filter.',
    shownOf: '{shown} of {total} brokers are shown.',
  },
  de: {
    brokersOf: 'Broker von {project}',
    received: 'Empfangene Nachrichten/s',
    sent: 'Zugestellte Nachrichten/s',
    refused: 'Abgewiesen',
    certificates: 'Zertifikate',
    daysLeft: 'noch {days} Tage',
    numbersFrom: 'Zahlen von {time}',
    notConnected: '{count} von {total} nicht verbunden',
    noBrokers: 'Es gibt noch keinen Broker. Fügen Sie einen mit seiner Adresse hinzu:',
    filterBrokers: 'Nach Namen filtern',
    moreProjects: 'Weitere von {total} Projekten anzeigen',
    noMatch: 'Kein Broker entspricht dem Filter.',
    shownOf: '{shown} von {total} Brokern werden gezeigt.',
  },
});

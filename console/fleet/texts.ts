import { catalogue } from '../texts/texts.ts';

export const fleetTexts = catalogue({
  en: {
    brokersOf: 'Brokers of {project}',
    received: 'Messages received/s',
    sent: 'Messages delivered/s',
    refused: 'Denied',
    certificates: 'Certificates',
    daysLeft: '{days} days left',
    numbersFrom: 'Numbers from {time}',
    notConnected: '{count} of {total} not connected',
    noBrokers: 'There is no broker yet. Add one with its address:',
    filterBrokers: 'Filter by name',
    moreProjects: 'Show more of {total} projects',
    noMatch: 'No broker matches the filter.',
    shownOf: '{shown} of {total} brokers are shown.',
    newProject: 'New project',
    createProject: 'Create the project',
    projectHint:
      'For example a plant or a customer. Its brokers, certificates and members belong together; viewers only look.',
    noProjects: 'You have no project yet',
    noProjectsText:
      'A project holds brokers, certificates and members. Create one, or ask an administrator to add you to theirs.',
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
    newProject: 'Neues Projekt',
    createProject: 'Projekt anlegen',
    projectHint:
      'Zum Beispiel ein Werk oder ein Kunde. Seine Broker, Zertifikate und Mitglieder gehören zusammen; Betrachter sehen nur zu.',
    noProjects: 'Sie haben noch kein Projekt',
    noProjectsText:
      'Ein Projekt enthält Broker, Zertifikate und Mitglieder. Legen Sie eines an, oder lassen Sie sich von einem Administrator aufnehmen.',
  },
});

import { catalogue } from '../texts/texts.ts';

export const brokerTexts = catalogue({
  en: {
    screens: 'Screens of the broker',
    connection: 'Connection',
    access: 'Access',
    topics: 'Topics',
    messages: 'Messages',
    streams: 'Streams',
    bridges: 'Bridges',
    trail: 'Where you are',
    otherBroker: 'Another broker of the project',
  },
  de: {
    screens: 'Ansichten des Brokers',
    connection: 'Verbindung',
    access: 'Zugriff',
    topics: 'Topics',
    messages: 'Nachrichten',
    streams: 'Streams',
    bridges: 'Bridges',
    trail: 'Wo Sie sind',
    otherBroker: 'Ein anderer Broker des Projekts',
  },
});

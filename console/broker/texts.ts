import { catalogue } from '../texts/texts.ts';

export const brokerTexts = catalogue({
  en: { screens: 'Screens of the broker', connection: 'Connection', topics: 'Topics', messages: 'Messages' },
  de: { screens: 'Ansichten des Brokers', connection: 'Verbindung', topics: 'Topics', messages: 'Nachrichten' },
});

import { catalogue } from '../texts/texts.ts';

export const brokerTexts = catalogue('broker', {
  screens: 'Screens of the broker',
  connection: 'Connection',
  access: 'Access',
  topics: 'Topics',
  messages: 'Messages',
  streams: 'Streams',
  bridges: 'Bridges',
  trail: 'Where you are',
  otherBroker: 'Another broker of the project',
});

import { catalogue } from '../texts/texts.ts';

export const fleetTexts = catalogue({
  en: {
    brokersOf: 'Brokers of {project}',
    received: 'Received / s',
    sent: 'Sent / s',
    refused: 'Refused',
    certificates: 'Certificates',
    daysLeft: '{days} days left',
    numbersFrom: 'Numbers from {time}',
    noBrokers: 'There is no broker yet. Add one with its address:',
    filterBrokers: 'Filter by name',
    noMatch: 'No broker matches the filter.',
  },
  de: {
    brokersOf: 'Broker von {project}',
    received: 'Empfangen / s',
    sent: 'Gesendet / s',
    refused: 'Abgewiesen',
    certificates: 'Zertifikate',
    daysLeft: 'noch {days} Tage',
    numbersFrom: 'Zahlen von {time}',
    noBrokers: 'Es gibt noch keinen Broker. Fügen Sie einen mit seiner Adresse hinzu:',
    filterBrokers: 'Nach Namen filtern',
    noMatch: 'Kein Broker entspricht dem Filter.',
  },
});

import { catalogue } from '../texts/texts.ts';

/** Of brokers that this service runs. */
export const runTexts = catalogue('broker/run', {
  runBroker: 'Run a broker here',
  runIn: 'Run a broker in {project}',
  EMBEDDED: 'Embedded broker.',
  EMBEDDEDHint: 'Part of this service: MQTT 3.1.1 and 5, accounts and roles, nothing to install.',
  MOSQUITTO: 'Mosquitto.',
  MOSQUITTOHint: 'A process on the machine of this service, which must have Mosquitto installed.',
  withWebSocket: 'Also for browsers, over WebSockets.',
  runNote:
    'The service chooses free ports and creates the account “admin”. Ports, TLS and certificates can be set afterwards.',
  running: 'Runs',
  start: 'Start',
  stop: 'Stop',
  stopOf: 'Stop {name}',
  stopMeans: 'All its clients are disconnected, and cannot connect until it is started again. Its data remains.',
  ACTIVE: 'running',
  ERROR: 'failed',
  INACTIVE: 'stopped',
  NEW: 'new',
  PROVISIONING: 'starting',
  SHUTTING_DOWN: 'stopping',
  UPDATING: 'restarting',
});

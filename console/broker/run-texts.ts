import { catalogue } from '../texts/texts.ts';

/** Of brokers that this service runs. */
export const runTexts = catalogue({
  en: {
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
  },
  de: {
    runBroker: 'Broker hier betreiben',
    runIn: 'Broker in {project} betreiben',
    EMBEDDED: 'Eingebetteter Broker.',
    EMBEDDEDHint: 'Teil dieses Dienstes: MQTT 3.1.1 und 5, Konten und Rollen, nichts zu installieren.',
    MOSQUITTO: 'Mosquitto.',
    MOSQUITTOHint: 'Ein Prozess auf der Maschine dieses Dienstes, auf der Mosquitto installiert sein muss.',
    withWebSocket: 'Auch für Browser, über WebSockets.',
    runNote:
      'Der Dienst wählt freie Ports und legt das Konto „admin“ an. Ports, TLS und Zertifikate lassen sich danach einstellen.',
    running: 'Läuft',
    start: 'Starten',
    stop: 'Stoppen',
    stopOf: '{name} stoppen',
    stopMeans:
      'Alle seine Clients werden getrennt und können sich nicht verbinden, bis er wieder gestartet ist. Seine Daten bleiben.',
    ACTIVE: 'läuft',
    ERROR: 'fehlgeschlagen',
    INACTIVE: 'gestoppt',
    NEW: 'neu',
    PROVISIONING: 'startet',
    SHUTTING_DOWN: 'wird gestoppt',
    UPDATING: 'startet neu',
  },
});

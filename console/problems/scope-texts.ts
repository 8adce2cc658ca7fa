import { catalogue } from '../texts/texts.ts';

export const scopeTexts = catalogue({
  en: {
    CRITICAL: 'critical',
    WARNING: 'warning',
    NOTICE: 'notice',
    brokers: 'Brokers',
    allBrokers: 'all, and problems without a broker',
    severities: 'Severities',
    allSeverities: 'all severities',
    kinds: 'Kinds',
    allKinds: 'all kinds',
    chosen: '{count} chosen',
    everything: 'all problems of the project',
    deletedBroker: 'a deleted broker',
    subjects: '{count} objects',
  },
  de: {
    CRITICAL: 'kritisch',
    WARNING: 'Warnung',
    NOTICE: 'Hinweis',
    brokers: 'Broker',
    allBrokers: 'alle, und Probleme ohne Broker',
    severities: 'Schweregrade',
    allSeverities: 'alle Schweregrade',
    kinds: 'Arten',
    allKinds: 'alle Arten',
    chosen: '{count} gewählt',
    everything: 'alle Probleme des Projekts',
    deletedBroker: 'ein gelöschter Broker',
    subjects: '{count} Objekte',
  },
});

import { catalogue } from '../texts/texts.ts';

export const scopeTexts = catalogue('problems/scope', {
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
  subjects: '{count} {count:object|objects}',
});

import { catalogue } from '../texts/texts.ts';

export const thresholdTexts = catalogue('problems/threshold', {
  thresholds: 'Thresholds of problems',
  thresholdsMean: 'Above these values, a fact is a problem of the project. An empty field has its default.',
  bridgeQueuedMessages: 'Messages in the queue of a connection of a bridge',
  streamFailedPercent: 'Messages of a stream that fail, in percent (of the last 10 s)',
  refusalsPerMinute: 'Denied attempts at a broker per minute (as in the last 10 s)',
  clientMessagesPerSecond: 'Messages that one client sends per second',
  droppedPerMinute: 'Messages that a broker drops per minute',
  certificateDays: 'Days before a certificate expires',
  tokenDays: 'Days before a token expires',
  bounds: 'Default: {fallback}; {min} to {max}',
  saveThresholds: 'Set thresholds',
  thresholdsSaved: 'The thresholds are set.',
  history: 'History',
  historyMeans: 'The operator sets for the whole service how long it stores what happened:',
  HISTORY_DAYS: 'Days for metrics and for what happened to clients. Default: 30.',
  HISTORY_MAX_MB: 'Maximum size of this history in MB; beyond it the oldest part is deleted. Default: 2,048.',
  PROBLEM_RETENTION_DAYS: 'Days for closed problems, at most 10,000. Default: 30.',
  AUDIT_RETENTION_DAYS: 'Days for entries of the audit. Default: 365; 0: for ever.',
});

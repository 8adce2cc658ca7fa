import { NO_END } from '../../brokers/license-control.ts';

/** What `getLicense` of `stream-processing` answers here: nothing is limited, and nothing ends. */
export const STREAM_LICENSE = {
  issuedBy: 'Brokergraph',
  issuedTo: 'everyone',
  comment: '',
  serial: '',
  features: ['stream-count', 'stream-processing', 'stream-persistence'].map((name) => ({
    name,
    version: '1',
    validSince: 0,
    validUntil: NO_END,
    // Not limited.
    count: -1,
  })),
} as const;

import { NO_END } from '../../brokers/license-control.ts';

/** Response to `getLicense` of `stream-processing`: without limits and without expiry. */
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
    // Unlimited.
    count: -1,
  })),
} as const;

import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * Options of each TLS connection that the service opens to an address of its users. With DHE (TLS 1.2) the server
 * chooses the group: one of 10,000 bits takes the thread a second for each handshake.
 */
export const OUTGOING_TLS = { ciphers: `${DEFAULT_CIPHERS}:!kDHE` } as const;

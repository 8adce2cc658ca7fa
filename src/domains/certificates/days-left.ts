import type { CertificateRecord } from './certificate-cache.ts';

export const DAY_MS = 86_400_000;

/** Whole days until the first certificate of the chain expires. Negative after it has expired. */
export const daysLeft = ({ expiresAt }: Pick<CertificateRecord, 'expiresAt'>, now = Date.now()): number =>
  Math.floor((expiresAt - now) / DAY_MS);

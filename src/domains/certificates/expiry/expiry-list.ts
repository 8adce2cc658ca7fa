import type { CertificateRecord } from '../certificate-directory.ts';

export const DAY_MS = 86_400_000;

/** Whole days until the first certificate of the chain expires; negative: since it did. */
export const daysLeft = ({ expiresAt }: Pick<CertificateRecord, 'expiresAt'>, now = Date.now()): number =>
  Math.floor((expiresAt - now) / DAY_MS);

export interface ExpiryChange {
  readonly certificates: readonly CertificateRecord[];
  /** Ids of those that are in the list no more: replaced by ones that last longer, or deleted. */
  readonly removed: readonly string[];
}

/**
 * The certificates of a project that expire within so many days, those that have expired too. A certificate is news when it comes into
 * the list, when it expires, and when it changes in it.
 */
export class ExpiryList {
  readonly #withinMs: number;
  #listed = new Map<string, { readonly record: CertificateRecord; readonly isExpired: boolean }>();

  constructor(withinDays: number) {
    this.#withinMs = withinDays * DAY_MS;
  }

  /** The first to expire first. */
  get all(): readonly CertificateRecord[] {
    return [...this.#listed.values()].map(({ record }) => record).sort((a, b) => a.expiresAt - b.expiresAt);
  }

  /** What became different with the certificates that there are at that moment; null: nothing. */
  update(certificates: readonly CertificateRecord[], now: number): ExpiryChange | null {
    const before = this.#listed;
    this.#listed = new Map(
      certificates
        .filter(({ expiresAt }) => expiresAt - now <= this.#withinMs)
        .map((record) => [record.id, { record, isExpired: record.expiresAt < now }]),
    );
    const changed = [...this.#listed.values()].filter(({ record, isExpired }) => {
      const known = before.get(record.id);
      return known?.record !== record || known.isExpired !== isExpired;
    });
    const removed = [...before.keys()].filter((id) => !this.#listed.has(id));
    if (changed.length === 0 && removed.length === 0) return null;
    return { certificates: changed.map(({ record }) => record), removed };
  }

  /** When the next of these comes into the list or expires, epoch milliseconds; Infinity: none will. */
  next(certificates: readonly CertificateRecord[], now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { expiresAt } of certificates) {
      const enters = expiresAt - this.#withinMs;
      // Expired is what has passed its last millisecond.
      if (enters > now) next = Math.min(next, enters);
      else if (expiresAt >= now) next = Math.min(next, expiresAt + 1);
    }
    return next;
  }
}

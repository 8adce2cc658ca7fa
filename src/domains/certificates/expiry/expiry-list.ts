import type { CertificateRecord } from '../certificate-cache.ts';

export const DAY_MS = 86_400_000;

export const daysLeft = ({ expiresAt }: Pick<CertificateRecord, 'expiresAt'>, now = Date.now()): number =>
  Math.floor((expiresAt - now) / DAY_MS);

export interface ExpiryChange {
  readonly certificates: readonly CertificateRecord[];
  /** Ids of certificates that left the list, because they were deleted or replaced by ones that last longer. */
  readonly removed: readonly string[];
}

/**
 * Certificates of a project that expire within a number of days. A change is reported when one enters the list,
 * expires, or changes.
 */
export class ExpiryList {
  readonly #withinMs: number;
  #listed = new Map<string, { readonly record: CertificateRecord; readonly isExpired: boolean }>();

  constructor(withinDays: number) {
    this.#withinMs = withinDays * DAY_MS;
  }

  get all(): readonly CertificateRecord[] {
    return [...this.#listed.values()].map(({ record }) => record).sort((a, b) => a.expiresAt - b.expiresAt);
  }

  /** Updates the list. Returns the changes, or `null` if there are none. */
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

  /** When the next certificate enters the list or expires, in epoch milliseconds. Infinity if none will. */
  next(certificates: readonly CertificateRecord[], now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { expiresAt } of certificates) {
      const enters = expiresAt - this.#withinMs;
      // A certificate has expired after its last millisecond.
      if (enters > now) next = Math.min(next, enters);
      else if (expiresAt >= now) next = Math.min(next, expiresAt + 1);
    }
    return next;
  }
}

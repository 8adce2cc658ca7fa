import type { Logger } from 'pino';
import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { invalid } from '../../../platform/errors.ts';
import type { CertificateCache, CertificateRecord } from '../certificate-cache.ts';

export const DAY_MS = 86_400_000;

export const daysLeft = ({ expiresAt }: Pick<CertificateRecord, 'expiresAt'>, now = Date.now()): number =>
  Math.floor((expiresAt - now) / DAY_MS);

interface ExpiryChange {
  readonly certificates: readonly CertificateRecord[];
  /** Deleted, or replaced by certificates that last longer. */
  readonly removed: readonly string[];
}

export type ExpiryEvent = BroadcastEvent<ExpiryChange, ExpiryChange>;

interface CertificateExpiryOptions {
  readonly cache: Pick<CertificateCache, 'all' | 'ofProject' | 'onChange'>;
  readonly log: Logger;
}

interface Feed {
  readonly projectId: string;
  readonly list: ExpiryList;
  readonly broadcast: Broadcast<ExpiryChange, ExpiryChange>;
}

const MAX_DAYS = 36_500;
/** Timers use a monotonic clock, which stops while the machine sleeps. */
const CHECK_MS = 3_600_000;
const WARN_DAYS = 14;
const MAX_WARNED = 50;

/** Notifies subscribers, and logs a warning once a day about certificates that expire within WARN_DAYS. */
export class CertificateExpiry {
  readonly #options: CertificateExpiryOptions;
  readonly #feeds = new Map<string, Feed>();
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  #warnsAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: CertificateExpiryOptions) {
    this.#options = options;
    this.#stop = options.cache.onChange((after, before) => {
      const projectId = (after ?? before)?.projectId;
      for (const feed of this.#feeds.values()) if (feed.projectId === projectId) this.#update(feed);
      this.#schedule();
    });
  }

  /** The cache must be loaded. */
  start(): void {
    this.#check();
  }

  /** First the list, then each change. Errors: INVALID. */
  watch(projectId: string, withinDays: number, options: SubscriberOptions): LiveSource<ExpiryEvent> {
    if (withinDays < 0 || withinDays > MAX_DAYS) {
      throw invalid([{ path: 'withinDays', reason: `must be 0 to ${MAX_DAYS}` }]);
    }
    const key = `${projectId} ${withinDays}`;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      for (const [other, { broadcast }] of this.#feeds) {
        if (broadcast.subscriberCount === 0) this.#feeds.delete(other);
      }
      const list = new ExpiryList(withinDays);
      const broadcast = new Broadcast<ExpiryChange, ExpiryChange>(() => ({ certificates: list.all, removed: [] }), {
        weigh: ({ certificates, removed }) => certificates.length + removed.length,
      });
      feed = { projectId, list, broadcast };
      this.#feeds.set(key, feed);
    }
    this.#update(feed);
    this.#schedule();
    return feed.broadcast.subscribe(options);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { broadcast } of this.#feeds.values()) broadcast.close();
    this.#feeds.clear();
  }

  #update({ projectId, list, broadcast }: Feed): void {
    const change = list.update(this.#options.cache.ofProject(projectId), Date.now());
    if (change !== null) broadcast.publish(change);
  }

  #check(): void {
    const now = Date.now();
    for (const feed of this.#feeds.values()) this.#update(feed);
    // If the clock was set back by more than a day, the next warning would be too late.
    if (now >= this.#warnsAt || this.#warnsAt - now > DAY_MS) {
      this.#warn(now);
      this.#warnsAt = now + DAY_MS;
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const now = Date.now();
    let next = Math.min(this.#warnsAt, now + CHECK_MS);
    for (const { projectId, list } of this.#feeds.values()) {
      next = Math.min(next, list.next(this.#options.cache.ofProject(projectId), now));
    }
    this.#timer = setTimeout(() => this.#check(), Math.max(1, next - now)).unref();
  }

  #warn(now: number): void {
    const soon = this.#options.cache.all().filter((certificate) => daysLeft(certificate, now) < WARN_DAYS);
    if (soon.length === 0) return;
    const certificates = soon
      .sort((a, b) => a.expiresAt - b.expiresAt)
      .slice(0, MAX_WARNED)
      .map((certificate) => warning(certificate, now));
    this.#options.log.warn({ certificates, count: soon.length }, 'certificates expire soon, or have expired');
  }
}

const warning = (certificate: CertificateRecord, now: number) => ({
  id: certificate.id,
  projectId: certificate.projectId,
  filename: certificate.filename,
  daysLeft: daysLeft(certificate, now),
  isDeployed: certificate.deployments.length > 0,
});

/** A change is reported when a certificate enters the list, expires, or changes. */
class ExpiryList {
  readonly #withinMs: number;
  #listed = new Map<string, { readonly record: CertificateRecord; readonly isExpired: boolean }>();

  constructor(withinDays: number) {
    this.#withinMs = withinDays * DAY_MS;
  }

  get all(): readonly CertificateRecord[] {
    return [...this.#listed.values()].map(({ record }) => record).sort((a, b) => a.expiresAt - b.expiresAt);
  }

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

  /** When the next certificate enters the list or expires, in epoch milliseconds. */
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

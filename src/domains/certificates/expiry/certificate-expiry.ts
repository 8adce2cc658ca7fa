import type { Logger } from 'pino';
import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { invalid } from '../../../platform/errors.ts';
import type { CertificateDirectory, CertificateRecord } from '../certificate-directory.ts';
import { DAY_MS, daysLeft, type ExpiryChange, ExpiryList } from './expiry-list.ts';

export type ExpiryEvent = BroadcastEvent<ExpiryChange, ExpiryChange>;

export interface CertificateExpiryOptions {
  readonly directory: Pick<CertificateDirectory, 'all' | 'ofProject' | 'onChange'>;
  readonly log: Logger;
}

interface Followed {
  readonly projectId: string;
  readonly list: ExpiryList;
  readonly broadcast: Broadcast<ExpiryChange, ExpiryChange>;
}

/** A hundred years. */
const MAX_DAYS = 36_500;
/** Timers run by a clock that stands still while a machine sleeps and takes no part in corrections: the calendar is looked at this often. */
const LOOK_MS = 3_600_000;
const WARN_DAYS = 14;
const MAX_WARNED = 50;

/**
 * Watches when certificates expire: tells subscribers, and warns in the log once a day of those with less than WARN_DAYS left. One
 * timer for all of it, for the next moment at which something becomes different.
 */
export class CertificateExpiry {
  readonly #directory: CertificateExpiryOptions['directory'];
  readonly #log: Logger;
  readonly #followed = new Map<string, Followed>();
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  #warnsAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor({ directory, log }: CertificateExpiryOptions) {
    this.#directory = directory;
    this.#log = log;
    this.#stop = directory.onChange((after, before) => {
      const projectId = (after ?? before)?.projectId;
      for (const followed of this.#followed.values()) if (followed.projectId === projectId) this.#update(followed);
      this.#wait();
    });
  }

  /** Begins to warn; certificates are loaded. */
  start(): void {
    this.#look();
  }

  /** The certificates of a project that expire within so many days now, then each that becomes one, expires, or changes. Errors: INVALID. */
  watch(projectId: string, withinDays: number, options: SubscriberOptions): LiveSource<ExpiryEvent> {
    if (withinDays < 0 || withinDays > MAX_DAYS) {
      throw invalid([{ path: 'withinDays', reason: `must be 0 to ${MAX_DAYS}` }]);
    }
    const key = `${projectId} ${withinDays}`;
    let followed = this.#followed.get(key);
    if (followed === undefined) {
      for (const [other, { broadcast }] of this.#followed) {
        if (broadcast.subscriberCount === 0) this.#followed.delete(other);
      }
      const list = new ExpiryList(withinDays);
      const broadcast = new Broadcast<ExpiryChange, ExpiryChange>(() => ({ certificates: list.all, removed: [] }), {
        weigh: ({ certificates, removed }) => certificates.length + removed.length,
      });
      followed = { projectId, list, broadcast };
      this.#followed.set(key, followed);
    }
    this.#update(followed);
    this.#wait();
    return followed.broadcast.subscribe(options);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { broadcast } of this.#followed.values()) broadcast.close();
    this.#followed.clear();
  }

  #update({ projectId, list, broadcast }: Followed): void {
    const change = list.update(this.#directory.ofProject(projectId), Date.now());
    if (change !== null) broadcast.publish(change);
  }

  #look(): void {
    const now = Date.now();
    for (const followed of this.#followed.values()) this.#update(followed);
    // Set back by more than a day, a clock would keep it silent.
    if (now >= this.#warnsAt || this.#warnsAt - now > DAY_MS) {
      this.#warn(now);
      this.#warnsAt = now + DAY_MS;
    }
    this.#wait();
  }

  #wait(): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const now = Date.now();
    let next = Math.min(this.#warnsAt, now + LOOK_MS);
    for (const { projectId, list } of this.#followed.values()) {
      next = Math.min(next, list.next(this.#directory.ofProject(projectId), now));
    }
    this.#timer = setTimeout(() => this.#look(), Math.max(1, next - now)).unref();
  }

  #warn(now: number): void {
    const soon = this.#directory.all().filter((certificate) => daysLeft(certificate, now) < WARN_DAYS);
    if (soon.length === 0) return;
    const certificates = soon
      .sort((a, b) => a.expiresAt - b.expiresAt)
      .slice(0, MAX_WARNED)
      .map((certificate) => warned(certificate, now));
    this.#log.warn({ certificates, count: soon.length }, 'certificates expire soon, or have expired');
  }
}

const warned = (certificate: CertificateRecord, now: number) => ({
  id: certificate.id,
  projectId: certificate.projectId,
  filename: certificate.filename,
  daysLeft: daysLeft(certificate, now),
  isDeployed: certificate.deployments.length > 0,
});

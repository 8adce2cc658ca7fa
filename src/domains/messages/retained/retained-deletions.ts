import type { Logger } from 'pino';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { Storage } from '../../../platform/storage/storage.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { Job } from '../../jobs/job.ts';
import type { JobStore } from '../../jobs/job-store.ts';
import { type HeldJob, LeasedJobs } from '../../jobs/leased-jobs.ts';
import { type StoredEvent, StoredFeeds } from '../../jobs/stored-feeds.ts';
import type { AccessRefusals } from '../access-refusals.ts';
import { checkedDeletion, type DeletionInput } from './deletion-input.ts';
import { continuedOf, deletionIn, reportOf, requestOf } from './deletion-record.ts';
import {
  type ContinuedDeletion,
  type DeletionProgress,
  type DeletionRequest,
  RetainedDeletion,
} from './retained-deletion.ts';
import type { RetainedReadings } from './retained-readings.ts';

interface RetainedDeletionsOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: Pick<BrokerCache, 'get' | 'onRemove'>;
  readonly readings: RetainedReadings;
  readonly refusals: AccessRefusals;
  readonly requireSupport: (broker: BrokerRecord) => void;
  readonly storage: Storage;
  readonly jobs: JobStore;
  readonly timeoutMs: number;
  readonly log: Logger;
}

export interface DeletionReport {
  readonly broker: BrokerRecord;
  readonly deletion: DeletionProgress;
  /** For the audit. */
  readonly outcome: string;
}

/** `null` if none is stored. */
export type DeletionEvent = StoredEvent<DeletionProgress | null>;

const KIND = 'RETAINED_DELETION';
const BUSY = 'Another deletion of retained messages runs on this broker';
const CONTINUED = 'The process that deletes ends: another one continues, or the same after its restart';
/** Of one process. */
const MAX_RUNNING = 4;
const PROGRESS_MS = 500;

/**
 * The deletions of retained messages: one per broker at a time, in whichever process. Each is a job, which another
 * process continues if its own one ends.
 */
export class RetainedDeletions {
  readonly #options: RetainedDeletionsOptions;
  readonly #jobs: LeasedJobs;
  readonly #feeds: StoredFeeds<DeletionProgress | null>;
  readonly #stopFollowing: () => void;

  constructor(options: RetainedDeletionsOptions) {
    this.#options = options;
    const { jobs: store, storage, brokers, log } = options;
    const { changes, leases } = storage;
    const perform = (job: Job, held: HeldJob) => this.#continue(job, held);
    this.#jobs = new LeasedJobs({ store, leases, kind: KIND, maxRunning: MAX_RUNNING, perform, log });
    const read = async (brokerId: string) => {
      const job = await store.last(brokerId, KIND);
      return job && deletionIn(job);
    };
    this.#feeds = new StoredFeeds({ changes, log, keyOf: (brokerId) => brokerId, read });
    this.#stopFollowing = brokers.onRemove(({ id }) => this.#feeds.end(id, notFound('broker', id)));
  }

  /** Continues deletions that other processes have begun and not finished, see LeasedJobs. */
  start(processes: Parameters<LeasedJobs['start']>[0]): void {
    this.#jobs.start(processes);
  }

  /**
   * Continues if the caller disconnects. Errors, before the first deletion: INVALID, NOT_SUPPORTED_BY_BROKER, IN_USE
   * (another deletion runs on the broker), RATE_LIMITED, NOT_ALLOWED and BROKER_REJECTED (the filter), and those of an
   * unreachable broker. BROKER_UNREACHABLE with `info.jobId` if this process ends meanwhile.
   */
  async run(broker: BrokerRecord, input: DeletionInput): Promise<DeletionReport> {
    const request = checkedDeletion(input);
    this.#options.requireSupport(broker);
    const job = { brokerId: broker.id, subject: '', request };
    const deletion = await this.#jobs.run(job, BUSY, (held) => this.#delete(broker, request, held, Date.now(), null));
    const { counts, total, isDryRun } = deletion;
    const done = isDryRun ? `${counts.WOULD_DELETE} would be deleted` : `${counts.DELETED} of ${total} deleted`;
    return { broker, deletion, outcome: `${deletion.state}: ${done}` };
  }

  watch(
    { id }: BrokerRecord,
    options: Pick<SubscriberOptions, 'signal' | 'after'>,
  ): Promise<LiveSource<DeletionEvent>> {
    return this.#feeds.watch(id, options);
  }

  /** Stops the deletions; other processes continue them. Waits at most 2 s. */
  stop(): Promise<void> {
    return this.#jobs.close();
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    await this.stop();
    await this.#feeds.close();
  }

  async #continue(job: Job, held: HeldJob): Promise<void> {
    const broker = this.#options.brokers.get(job.brokerId);
    if (broker === null) return;
    const deletion = this.#delete(broker, requestOf(job), held, job.startedAt.getTime(), continuedOf(job));
    await deletion.catch((error: unknown) => {
      // Stored, or continued by another process.
      if (!(error instanceof ServiceError)) throw error;
    });
  }

  async #delete(
    broker: BrokerRecord,
    request: DeletionRequest,
    { running, isStopped }: HeldJob,
    startedAt: number,
    continued: ContinuedDeletion | null,
  ): Promise<DeletionProgress> {
    const { runtimes, readings, refusals, timeoutMs } = this.#options;
    let reportedAt = 0;
    const report = (isNewState: boolean, change: Partial<DeletionProgress> = {}) =>
      running.report(reportOf({ ...deletion.progress(), ...change }, deletion.notFound), isNewState);
    const deletion: RetainedDeletion = new RetainedDeletion({
      ...request,
      jobId: running.id,
      startedAt,
      continued,
      timeoutMs,
      read: (reading) => readings.read(broker, reading),
      link: () => runtimes.ask(broker, async ({ messages }) => messages, { triesNow: true }),
      explained: async (error, topic, clientId) =>
        (await refusals.explained(broker, error, { action: 'PUBLISH', topic, clientId })) as ServiceError,
      isStopped,
      onProgress: (isNewState) => {
        const now = Date.now();
        if (isStopped() || (!isNewState && now - reportedAt < PROGRESS_MS)) return;
        reportedAt = now;
        report(isNewState);
      },
    });
    try {
      const done = await deletion.run();
      if (!isStopped()) return done;
    } catch (error) {
      if (!isStopped()) {
        report(true, { state: 'FAILED', problem: error instanceof ServiceError ? error.message : 'Internal error' });
        throw error;
      }
    }
    report(true, { state: 'WAITING', problem: CONTINUED, endedAt: null });
    throw new ServiceError('BROKER_UNREACHABLE', CONTINUED, { info: { jobId: running.id } });
  }
}

import { stateIn } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { UntilLast } from '../../gateway/live/until-last.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { requireSignedIn } from '../../platform/auth/viewer.ts';
import { notFound, OutOfSight } from '../../platform/errors.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { StorageLog } from '../../platform/storage/storage-log.ts';
import type { BrokerService } from '../brokers/broker-service.ts';
import type { ListedJob } from './job.ts';
import type { JobStore } from './job-store.ts';
import { type StoredEvent, StoredFeeds } from './stored-feeds.ts';

interface JobServiceOptions {
  readonly store: JobStore;
  readonly changes: Changes;
  readonly brokers: Pick<BrokerService, 'seen'>;
  readonly log: StorageLog;
}

/** `null` if the job was deleted meanwhile. */
export type JobEvent = StoredEvent<ListedJob | null>;

/** The jobs of brokers, in whichever process they run. Errors of all methods: those of the database. */
export class JobService {
  readonly #options: JobServiceOptions;
  readonly #feeds: StoredFeeds<ListedJob | null>;

  constructor(options: JobServiceOptions) {
    this.#options = options;
    const { store, changes, log } = options;
    const keyOf = (_brokerId: string, jobId: string) => jobId;
    this.#feeds = new StoredFeeds({ changes, log, keyOf, read: (id) => store.find(id) });
  }

  /** Errors: UNAUTHORIZED; NOT_FOUND if there is none, or the viewer may not see its broker. */
  async visible(id: string, viewer: Viewer | null): Promise<ListedJob> {
    const known = requireSignedIn(viewer);
    const job = await this.#options.store.find(id);
    if (job === null) throw notFound('job', id);
    if (this.#options.brokers.seen(job.brokerId, known) === null) throw new OutOfSight('job', id);
    return job;
  }

  /** Newest first. */
  ofBroker(brokerId: string, count: number): Promise<readonly ListedJob[]> {
    return this.#options.store.ofBroker(brokerId, count);
  }

  /** The name of the stream of a replay. `null` for other jobs. */
  async streamName({ id, kind }: ListedJob): Promise<string | null> {
    const request = kind === 'STREAM_REPLAY' ? await this.#options.store.request(id) : null;
    return request === null ? null : (JSON.parse(request) as { readonly streamName: string }).streamName;
  }

  /** The job now and its changes, until it has ended. */
  async watch({ id, endedAt }: ListedJob, { after, ...options }: SubscriberOptions): Promise<LiveSource<JobEvent>> {
    // The end itself is in the snapshot, and not in the changes after it.
    const source = await this.#feeds.watch(id, endedAt === null ? { ...options, after } : options);
    return new UntilLast(source, (event) => {
      const job = stateIn(event);
      return job === null ? event.kind === 'CHANGE' || event.kind === 'SNAPSHOT' : job.endedAt !== null;
    });
  }

  close(): Promise<void> {
    return this.#feeds.close();
  }
}

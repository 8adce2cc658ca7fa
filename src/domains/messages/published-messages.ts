import type { Logger } from 'pino';
import type { Closers } from '../../platform/closers.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { AccessControlService } from '../access-control/access-control-service.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { AccessRefusals } from './access-refusals.ts';
import { PublishService } from './publishing/publish-service.ts';
import { RetainedDeletions } from './retained/retained-deletions.ts';
import { RetainedReadings } from './retained/retained-readings.ts';
import { RetainedService } from './retained/retained-service.ts';

interface PublishedOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
  readonly access: AccessControlService;
  readonly supportOf: (feature: string) => {
    /** NOT_SUPPORTED_BY_BROKER if the feature is unavailable for a broker (a cluster). */
    readonly requireSupport: (broker: BrokerRecord) => void;
  };
  readonly storage: Storage;
  readonly jobs: JobStore;
  readonly timeoutMs: number;
  readonly log: Logger;
  readonly closers: Closers;
}

/** Publishing messages, and reading and deleting retained ones. */
export function openPublished({ access, supportOf, closers, ...options }: PublishedOptions) {
  const refusals = new AccessRefusals(access);
  const readings = new RetainedReadings({ ...options, refusals });
  const ofRetained = { readings, ...supportOf('a list of retained messages') };
  return {
    publishing: new PublishService({ ...options, refusals, ...supportOf('publishing') }),
    retained: new RetainedService(ofRetained),
    retainedDeletions: closers.keep(new RetainedDeletions({ ...options, ...ofRetained, refusals })),
  };
}

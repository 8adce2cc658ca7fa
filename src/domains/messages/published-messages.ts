import type { Closers } from '../../platform/closers.ts';
import type { AccessControlService } from '../access-control/access-control-service.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { AccessRefusals } from './access-refusals.ts';
import { PublishService } from './publishing/publish-service.ts';
import { RetainedDeletions } from './retained/retained-deletions.ts';
import { RetainedReadings } from './retained/retained-readings.ts';
import { RetainedService } from './retained/retained-service.ts';

interface PublishedOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
  readonly access: AccessControlService;
  /** Why `feature` is unavailable for a broker (a cluster); `null` if it is available. */
  readonly refusalOf: (feature: string) => (broker: BrokerRecord) => string | null;
  readonly timeoutMs: number;
  readonly closers: Closers;
}

/** Publishing messages, and reading and deleting retained ones. */
export function openPublished({ access, refusalOf, closers, ...options }: PublishedOptions) {
  const refusals = new AccessRefusals(access);
  const readings = new RetainedReadings({ ...options, refusals });
  const ofRetained = { readings, refusalOf: refusalOf('a list of retained messages') };
  return {
    publishing: new PublishService({ ...options, refusals, refusalOf: refusalOf('publishing') }),
    retained: new RetainedService(ofRetained),
    retainedDeletions: closers.keep(new RetainedDeletions({ ...options, ...ofRetained, refusals })),
  };
}

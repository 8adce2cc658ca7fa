import type { Logger } from 'pino';
import { BrokerCache } from '../domains/brokers/broker-cache.ts';
import { CertificateCache } from '../domains/certificates/certificate-cache.ts';
import { ProjectCache } from '../domains/projects/project-cache.ts';
import type { Closers } from '../platform/closers.ts';
import type { Storage } from '../platform/storage/storage.ts';

/** The caches of the rows that almost every request reads. */
interface Caches {
  readonly projects: ProjectCache;
  readonly brokers: BrokerCache;
  readonly certificates: CertificateCache;
}

interface CacheOptions {
  readonly storage: Pick<Storage, 'db' | 'changes'>;
  readonly closers: Closers;
  readonly log: Logger;
}

export async function loadCaches({ storage, closers, log }: CacheOptions): Promise<Caches> {
  const { db, changes } = storage;
  const projects = closers.keep(new ProjectCache({ db, changes, log }));
  const brokers = closers.keep(new BrokerCache({ db, changes, log }));
  const certificates = closers.keep(new CertificateCache({ db, changes, log }));
  await Promise.all([projects.load(), brokers.load(), certificates.load()]);
  projects.onRemove(({ id }) => certificates.projectRemoved(id));
  return { projects, brokers, certificates };
}

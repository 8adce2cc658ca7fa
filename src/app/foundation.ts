import type { Logger } from 'pino';
import { BrokerCache } from '../domains/brokers/broker-cache.ts';
import { CertificateCache } from '../domains/certificates/certificate-cache.ts';
import { ClusterCache } from '../domains/clusters/cluster-cache.ts';
import { ProjectCache } from '../domains/projects/project-cache.ts';
import type { Closers } from '../platform/closers.ts';
import type { Config } from '../platform/config/config.ts';
import { openSealer } from '../platform/storage/encryption/sealed.ts';
import { folderIdOf } from '../platform/storage/folder/folder-id.ts';
import { openStorage } from '../platform/storage/storage.ts';

/** What all parts use: the settings, the database, the key of stored secrets, and the caches of rows. */
export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

/** Errors: ServiceError IN_USE when another process owns the data folder. */
export async function openFoundation(config: Config, log: Logger, closers: Closers) {
  const { dataDir, databaseUrl, secretKey, secretKeyPrevious: previousSecretKey } = config;
  const storage = closers.keep(await openStorage({ dataDir, databaseUrl, log }));
  const folderId = folderIdOf(dataDir);
  const sealer = openSealer({ dataDir, secretKey, previousSecretKey });
  storage.changes.signWith?.(sealer);
  const rows = { db: storage.db, changes: storage.changes, log };
  const caches = {
    projects: closers.keep(new ProjectCache(rows)),
    brokers: closers.keep(new BrokerCache(rows)),
    certificates: closers.keep(new CertificateCache(rows)),
    clusters: closers.keep(new ClusterCache(rows)),
  };
  await Promise.all(Object.values(caches).map((cache) => cache.load()));
  caches.projects.onRemove(({ id }) => caches.certificates.projectRemoved(id));
  return { config, log, closers, storage, folderId, sealer, caches };
}

import type { Logger } from 'pino';
import type { Closers } from '../../platform/closers.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { BrokerService } from '../brokers/broker-service.ts';
import type { CertificateDirectory } from './certificate-directory.ts';
import { CertificateService } from './certificate-service.ts';
import { CertificateDeployer } from './deployment/certificate-deployer.ts';
import { CertificateExpiry } from './expiry/certificate-expiry.ts';
import { ListenerService } from './listener-service.ts';

export interface CertificatesOptions {
  readonly storage: Storage;
  readonly sealer: Sealer;
  readonly directory: CertificateDirectory;
  readonly brokerCache: BrokerCache;
  readonly brokers: BrokerService;
  readonly runtimes: BrokerRuntimes;
  /** Longest wait for one answer of a broker, milliseconds. */
  readonly timeoutMs: number;
  readonly closers: Closers;
  readonly log: Logger;
}

/** The certificates of projects, and where they are: on which listeners, and for how long. */
export interface Certificates {
  readonly certificates: CertificateService;
  readonly certificateDeployer: CertificateDeployer;
  readonly certificateExpiry: CertificateExpiry;
  readonly listeners: ListenerService;
}

export function openCertificates(options: CertificatesOptions): Certificates {
  const { storage, sealer, directory, brokerCache, brokers, runtimes, timeoutMs, closers, log } = options;
  const certificates = new CertificateService({ db: storage.db, directory, brokers: brokerCache, sealer });
  return {
    certificates,
    certificateDeployer: new CertificateDeployer({ storage, directory, brokers, runtimes, sealer, timeoutMs }),
    certificateExpiry: closers.keep(new CertificateExpiry({ directory, log })),
    listeners: new ListenerService(runtimes, certificates),
  };
}

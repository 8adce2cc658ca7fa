import type { Viewer } from '../../../platform/auth/viewer.ts';
import { type ErrorCode, type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import type { Storage } from '../../../platform/storage/storage.ts';
import type { CertificateMaterial } from '../../../protocol/certificates/certificate-material.ts';
import { type ListenerEntry, listListeners } from '../../../protocol/control/listeners.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { BrokerService } from '../../brokers/broker-service.ts';
import type { CertificateCache, CertificateRecord, CertificateRow, DeploymentRecord } from '../certificate-cache.ts';
import { checkedAt } from '../certificate-input.ts';
import { keyContext } from '../certificate-service.ts';
import { BrokerDeployment, type ListenerOutcome } from './broker-deployment.ts';
import { DeploymentRows } from './deployment-rows.ts';
import type { ListenerAddress } from './listener-match.ts';

interface DeploymentTarget {
  readonly brokerId: string;
  readonly listeners: readonly { readonly port: number; readonly bindAddress?: string | null | undefined }[];
}

export interface ListenerFailure extends ListenerAddress {
  readonly code: ErrorCode;
  readonly error: string;
  readonly isUnknown: boolean;
}

/** Listeners are returned as in the request. */
export interface DeploymentResult {
  readonly brokerId: string;
  readonly broker: BrokerRecord | null;
  readonly error: string | null;
  readonly succeed: readonly ListenerAddress[];
  readonly failed: readonly ListenerFailure[];
}

export interface ListenerView extends ListenerEntry {
  readonly broker: BrokerRecord;
  readonly certificates: readonly CertificateRecord[];
}

interface CertificateDeployerOptions {
  readonly storage: Pick<Storage, 'db' | 'leases'>;
  readonly cache: CertificateCache;
  readonly brokers: BrokerService;
  readonly runtimes: BrokerRuntimes;
  readonly sealer: Sealer;
  readonly timeoutMs: number;
}

const MAX_CONCURRENT = 16;
const MAX_BROKERS = 500;
const MAX_LISTENERS = 100;

/**
 * Brokers are changed concurrently, the listeners of one broker one after the other, each with its own result. An
 * operation is completed even if its caller disconnects.
 */
export class CertificateDeployer {
  readonly #options: CertificateDeployerOptions;
  readonly #rows: DeploymentRows;
  readonly #mutex: LeasedMutex;

  constructor(options: CertificateDeployerOptions) {
    const { storage, cache, timeoutMs } = options;
    this.#options = options;
    this.#rows = new DeploymentRows(storage.db, cache);
    this.#mutex = new LeasedMutex({
      leases: storage.leases,
      name: 'certificates of this broker',
      prefix: 'certificates',
      timeoutMs: timeoutMs * 2,
    });
  }

  /** One result per target, in order. Errors: INVALID (targets, or an expired certificate), NOT_FOUND. */
  async deploy(
    certificate: CertificateRecord,
    targets: readonly DeploymentTarget[],
    viewer: Viewer | null,
  ): Promise<DeploymentResult[]> {
    checkTargets(targets);
    const { id, hasPrivateKey } = certificate;
    await this.#materialOf(await this.#rows.reserve(id, []));
    return this.#onEach(certificate, targets, viewer, (deployment, addresses) =>
      deployment.deploy(id, hasPrivateKey, addresses),
    );
  }

  async undeploy(
    certificate: CertificateRecord,
    targets: readonly DeploymentTarget[],
    viewer: Viewer | null,
  ): Promise<DeploymentResult[]> {
    checkTargets(targets);
    const { id, filename, fingerprint256, hasPrivateKey } = certificate;
    const file = { fileName: filename, fingerprint256, isServer: hasPrivateKey };
    return this.#onEach(certificate, targets, viewer, (deployment, addresses) =>
      deployment.undeploy(id, file, addresses),
    );
  }

  /** In the order that the broker reports. Errors: NOT_SUPPORTED_BY_BROKER, and those of an unreachable broker. */
  async listenersOf(broker: BrokerRecord): Promise<ListenerView[]> {
    const { cache, runtimes } = this.#options;
    const entries = await runtimes.ask(broker, ({ controls }) => listListeners(controls));
    const all = cache.ofProject(broker.projectId);
    return entries.map((entry) => {
      const isHere = ({ brokerId, port, bindAddress, deployedAt }: DeploymentRecord) =>
        brokerId === broker.id &&
        port === entry.port &&
        bindAddress === (entry.bindAddress ?? '') &&
        deployedAt !== null;
      return { ...entry, broker, certificates: all.filter(({ deployments }) => deployments.some(isHere)) };
    });
  }

  #onEach(
    { projectId }: CertificateRecord,
    targets: readonly DeploymentTarget[],
    viewer: Viewer | null,
    change: (deployment: BrokerDeployment, addresses: readonly ListenerAddress[]) => Promise<ListenerOutcome[]>,
  ): Promise<DeploymentResult[]> {
    const { brokers, runtimes, timeoutMs } = this.#options;
    const limit = new ConcurrencyLimit({ maxRunning: MAX_CONCURRENT });
    const materialOf = (row: CertificateRow) => this.#materialOf(row);
    return Promise.all(
      targets.map(async ({ brokerId, listeners }) => {
        const addresses = listeners.map(({ port, bindAddress }) => ({ port, bindAddress: bindAddress ?? null }));
        let broker: BrokerRecord | null = null;
        try {
          broker = brokers.visible(brokerId, viewer, 'VIEWER', projectId);
          const deployment = new BrokerDeployment({ broker, runtimes, rows: this.#rows, timeoutMs, materialOf });
          const work = () => this.#mutex.run(brokerId, () => change(deployment, addresses));
          return resultOf(brokerId, broker, addresses, await limit.run(work));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const outcomes = addresses.map(() => error);
          return { ...resultOf(brokerId, broker, addresses, outcomes), error: error.message };
        }
      }),
    );
  }

  #materialOf({ id, cert, sealedKey }: CertificateRow): Promise<CertificateMaterial> {
    const privateKey = sealedKey && this.#options.sealer.open(sealedKey, keyContext(id));
    return checkedAt({ cert, privateKey }, () => 'input.certificateId');
  }
}

function resultOf(
  brokerId: string,
  broker: BrokerRecord | null,
  addresses: readonly ListenerAddress[],
  outcomes: readonly ListenerOutcome[],
): DeploymentResult {
  const failed = addresses.flatMap((address, index) => {
    const outcome = outcomes[index] ?? null;
    if (outcome === null) return [];
    const { code, message, info } = outcome;
    return [{ ...address, code, error: message, isUnknown: info?.outcome === 'unknown' }];
  });
  const succeed = addresses.filter((_address, index) => (outcomes[index] ?? null) === null);
  return { brokerId, broker, error: null, succeed, failed };
}

function checkTargets(targets: readonly DeploymentTarget[]): void {
  const issues: InputIssue[] = [];
  const bounded = (path: string, count: number, max: number) => {
    if (count === 0 || count > max) issues.push({ path, reason: `must have 1 to ${max} entries` });
  };
  bounded('input.brokers', targets.length, MAX_BROKERS);
  const brokers = new Set<string>();
  for (const [index, { brokerId, listeners }] of targets.slice(0, MAX_BROKERS).entries()) {
    const path = `input.brokers.${index}`;
    if (brokers.has(brokerId)) issues.push({ path: `${path}.brokerId`, reason: 'is a duplicate' });
    brokers.add(brokerId);
    bounded(`${path}.listeners`, listeners.length, MAX_LISTENERS);
    const addresses = new Set<string>();
    for (const [at, { port, bindAddress }] of listeners.slice(0, MAX_LISTENERS).entries()) {
      const address = JSON.stringify([port, bindAddress ?? null]);
      if (addresses.has(address)) issues.push({ path: `${path}.listeners.${at}`, reason: 'is a duplicate' });
      addresses.add(address);
      if (port < 1 || port > 65_535)
        issues.push({ path: `${path}.listeners.${at}.port`, reason: 'must be 1 to 65535' });
    }
  }
  if (issues.length > 0) throw invalid(issues);
}

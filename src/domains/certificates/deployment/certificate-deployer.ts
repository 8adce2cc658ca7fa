import type { Viewer } from '../../../platform/auth/viewer.ts';
import { type ErrorCode, type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../../platform/storage/sealed.ts';
import type { Storage } from '../../../platform/storage/storage.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { BrokerService } from '../../brokers/broker-service.ts';
import type { CertificateDirectory, CertificateRecord, CertificateRow } from '../certificate-directory.ts';
import { placed } from '../certificate-input.ts';
import { keyContext } from '../certificate-service.ts';
import { type CertificateMaterial, checkedMaterial } from '../material/certificate-material.ts';
import { BrokerDeployment, type ListenerOutcome } from './broker-deployment.ts';
import { DeploymentRows } from './deployment-rows.ts';
import type { ListenerPlace } from './listener-match.ts';

/** Listeners of one broker. */
export interface DeploymentTarget {
  readonly brokerId: string;
  readonly listeners: readonly { readonly port: number; readonly bindAddress?: string | null | undefined }[];
}

export interface ListenerFailure extends ListenerPlace {
  readonly code: ErrorCode;
  readonly error: string;
  /** The answer of the broker was lost: it may have been done. */
  readonly isUnknown: boolean;
}

/** What became of it on one broker. Listeners are told as they were asked for. */
export interface DeploymentResult {
  readonly brokerId: string;
  /** Null: there is none that the caller sees. */
  readonly broker: BrokerRecord | null;
  /** Why none of its listeners was tried; null: they were. */
  readonly error: string | null;
  readonly succeed: readonly ListenerPlace[];
  readonly failed: readonly ListenerFailure[];
}

export interface CertificateDeployerOptions {
  readonly storage: Pick<Storage, 'db' | 'leases'>;
  readonly directory: CertificateDirectory;
  readonly brokers: BrokerService;
  readonly runtimes: BrokerRuntimes;
  readonly sealer: Sealer;
  /** Longest wait for one answer of a broker, milliseconds. */
  readonly timeoutMs: number;
}

/** Brokers that are changed at once. */
const AT_ONCE = 16;
const MAX_BROKERS = 500;
const MAX_LISTENERS = 100;

/**
 * Brings certificates to listeners of brokers, and takes them away. Each listener is done or failed by itself; brokers are changed at
 * the same time, the listeners of one broker one after the other. What a caller gives up on is brought to its end.
 */
export class CertificateDeployer {
  readonly #options: CertificateDeployerOptions;
  readonly #rows: DeploymentRows;
  readonly #mutex: LeasedMutex;

  constructor(options: CertificateDeployerOptions) {
    const { storage, directory, timeoutMs } = options;
    this.#options = options;
    this.#rows = new DeploymentRows(storage.db, directory);
    this.#mutex = new LeasedMutex({
      leases: storage.leases,
      name: 'certificates of this broker',
      prefix: 'certificates',
      timeoutMs: timeoutMs * 2,
    });
  }

  /** One result for each target, in their order. Errors: INVALID (the targets; a certificate that expired), NOT_FOUND. */
  async deploy(
    certificate: CertificateRecord,
    targets: readonly DeploymentTarget[],
    viewer: Viewer | null,
  ): Promise<DeploymentResult[]> {
    checkTargets(targets);
    const { id, hasPrivateKey } = certificate;
    this.#materialOf(await this.#rows.reserve(id, []));
    return this.#onEach(certificate, targets, viewer, (deployment, places) =>
      deployment.deploy(id, hasPrivateKey, places),
    );
  }

  /** As `deploy`. */
  async undeploy(
    certificate: CertificateRecord,
    targets: readonly DeploymentTarget[],
    viewer: Viewer | null,
  ): Promise<DeploymentResult[]> {
    checkTargets(targets);
    const { id, filename, fingerprint256, hasPrivateKey } = certificate;
    const file = { fileName: filename, fingerprint256, isServer: hasPrivateKey };
    return this.#onEach(certificate, targets, viewer, (deployment, places) => deployment.undeploy(id, file, places));
  }

  #onEach(
    { projectId }: CertificateRecord,
    targets: readonly DeploymentTarget[],
    viewer: Viewer | null,
    change: (deployment: BrokerDeployment, places: readonly ListenerPlace[]) => Promise<ListenerOutcome[]>,
  ): Promise<DeploymentResult[]> {
    const { brokers, runtimes, timeoutMs } = this.#options;
    const limit = new ConcurrencyLimit({ maxRunning: AT_ONCE });
    const materialOf = (row: CertificateRow) => this.#materialOf(row);
    return Promise.all(
      targets.map(async ({ brokerId, listeners }) => {
        const places = listeners.map(({ port, bindAddress }) => ({ port, bindAddress: bindAddress ?? null }));
        let broker: BrokerRecord | null = null;
        try {
          const found = brokers.visible(brokerId, viewer, 'VIEWER', projectId);
          broker = found;
          const deployment = new BrokerDeployment({ broker, runtimes, rows: this.#rows, timeoutMs, materialOf });
          const work = () => this.#mutex.run(brokerId, () => change(deployment, places));
          return resultOf(brokerId, broker, places, await limit.run(work));
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const { message } = error;
          return {
            ...resultOf(
              brokerId,
              broker,
              places,
              places.map(() => error),
            ),
            error: message,
          };
        }
      }),
    );
  }

  /** Errors: INVALID. */
  #materialOf({ id, cert, sealedKey }: CertificateRow): CertificateMaterial {
    const privateKey = sealedKey && this.#options.sealer.open(sealedKey, keyContext(id));
    return placed(
      () => checkedMaterial({ cert, privateKey }),
      () => 'input.certificateId',
    );
  }
}

function resultOf(
  brokerId: string,
  broker: BrokerRecord | null,
  places: readonly ListenerPlace[],
  outcomes: readonly ListenerOutcome[],
): DeploymentResult {
  const failed = places.flatMap((place, index) => {
    const outcome = outcomes[index] ?? null;
    if (outcome === null) return [];
    const { code, message, info } = outcome;
    return [{ ...place, code, error: message, isUnknown: info?.outcome === 'unknown' }];
  });
  const succeed = places.filter((_place, index) => (outcomes[index] ?? null) === null);
  return { brokerId, broker, error: null, succeed, failed };
}

/** Errors: INVALID. */
function checkTargets(targets: readonly DeploymentTarget[]): void {
  const issues: InputIssue[] = [];
  const bounded = (path: string, count: number, max: number) => {
    if (count === 0 || count > max) issues.push({ path, reason: `must have 1 to ${max} entries` });
  };
  bounded('input.brokers', targets.length, MAX_BROKERS);
  const brokers = new Set<string>();
  for (const [index, { brokerId, listeners }] of targets.slice(0, MAX_BROKERS).entries()) {
    const path = `input.brokers.${index}`;
    if (brokers.has(brokerId)) issues.push({ path: `${path}.brokerId`, reason: 'is there already' });
    brokers.add(brokerId);
    bounded(`${path}.listeners`, listeners.length, MAX_LISTENERS);
    const places = new Set<string>();
    for (const [at, { port, bindAddress }] of listeners.slice(0, MAX_LISTENERS).entries()) {
      const place = JSON.stringify([port, bindAddress ?? null]);
      if (places.has(place)) issues.push({ path: `${path}.listeners.${at}`, reason: 'is there already' });
      places.add(place);
      if (port < 1 || port > 65_535)
        issues.push({ path: `${path}.listeners.${at}.port`, reason: 'must be 1 to 65535' });
    }
  }
  if (issues.length > 0) throw invalid(issues);
}

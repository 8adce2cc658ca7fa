import { ServiceError } from '../../../platform/errors.ts';
import { CERTIFICATE_API, changeListener, isLost, isMissingFile } from '../../../protocol/apis/certificate-control.ts';
import type { CertificateMaterial } from '../../../protocol/certificates/certificate-material.ts';
import { type ListenerEntry, listListeners } from '../../../protocol/control/listeners.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { CertificateRow } from '../certificate-cache.ts';
import { type CertificateFile, presenceAfterLoss, presenceOn } from './deployed-files.ts';
import type { DeploymentKey, DeploymentRows } from './deployment-rows.ts';
import { type FoundListener, findListener, type ListenerAddress } from './listener-match.ts';

export type ListenerOutcome = ServiceError | null;

interface BrokerDeploymentOptions {
  readonly broker: BrokerRecord;
  readonly runtimes: BrokerRuntimes;
  readonly rows: DeploymentRows;
  readonly timeoutMs: number;
  /** Errors: INVALID if the certificate must no longer be deployed. */
  readonly materialOf: (row: CertificateRow) => Promise<CertificateMaterial>;
}

type Target = FoundListener | ServiceError;

/**
 * Changes the listeners of one broker, one after the other. Only confirmed changes are recorded. If a response is lost,
 * the state is read again. The caller holds the broker's mutex. Errors: those of the broker, before any change.
 */
export class BrokerDeployment {
  readonly #options: BrokerDeploymentOptions;

  constructor(options: BrokerDeploymentOptions) {
    this.#options = options;
  }

  async deploy(
    certificateId: string,
    isServer: boolean,
    addresses: readonly ListenerAddress[],
  ): Promise<ListenerOutcome[]> {
    const { rows, broker, materialOf } = this.#options;
    if (isServer) this.#requireOwnBroker();
    const { runtime, listeners } = await this.#readListeners();
    const targets = await targetsAt(listeners, addresses);
    const found = targets.flatMap((target) => (target instanceof ServiceError ? [] : [target]));
    const deployments = found.map((listener) => deploymentOf(certificateId, broker, listener));
    const row = await rows.reserve(certificateId, deployments);
    const existing = new Set(row.deployments.filter(({ brokerId }) => brokerId === broker.id).map(keyOf));
    const cancel = async (listener: FoundListener) => {
      if (!existing.has(keyOf(listener))) await rows.remove(deploymentOf(certificateId, broker, listener));
    };
    let material: CertificateMaterial;
    try {
      material = await materialOf(row);
      if (material.key !== null) this.#requireOwnBroker();
    } catch (error) {
      for (const listener of found) await cancel(listener);
      throw error;
    }
    const send = (listener: FoundListener) =>
      this.#deployOn(runtime, listener, row, material, existing.has(keyOf(listener)));
    return this.#runInSequence(targets, send, cancel);
  }

  /** As `deploy`. A missing certificate or listener counts as undeployed. */
  async undeploy(
    certificateId: string,
    file: CertificateFile,
    addresses: readonly ListenerAddress[],
  ): Promise<ListenerOutcome[]> {
    const { rows, broker } = this.#options;
    const { runtime, listeners } = await this.#readListeners();
    const recorded = await rows.on(certificateId, broker.id);
    const targets = await targetsAt(listeners, addresses);
    const outcomes = await this.#runInSequence(targets, (found) =>
      this.#undeployOn(runtime, found, certificateId, file),
    );
    for (const [index, address] of addresses.entries()) {
      const found = targets[index];
      if (!(found instanceof ServiceError) || found.code === 'INVALID') continue;
      // A listener that was removed or no longer uses TLS has no certificate.
      const left = recorded.filter((row) => matches(row, address));
      for (const row of left) await rows.remove(row);
      if (left.length > 0) outcomes[index] = null;
    }
    return outcomes;
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER with a hint, and those of an unreachable broker. */
  async #readListeners(): Promise<{ readonly runtime: BrokerRuntime; readonly listeners: readonly ListenerEntry[] }> {
    const { runtimes, broker } = this.#options;
    return runtimes.ask(broker, async (runtime) => {
      const [{ provider, reason }, listeners] = await Promise.all([
        runtime.controls.capability(CERTIFICATE_API),
        listListeners(runtime.controls).catch((error: unknown) => error),
      ]);
      if (provider === 'NONE') {
        const message = reason ?? 'The broker has no certificate management';
        throw new ServiceError('NOT_SUPPORTED_BY_BROKER', message, { info: { api: CERTIFICATE_API, reason: message } });
      }
      if (!Array.isArray(listeners)) throw listeners;
      // Unix domain sockets do not use TLS.
      return { runtime, listeners: (listeners as ListenerEntry[]).filter(({ socketPath }) => socketPath === null) };
    });
  }

  /** A private key is not sent to a broker that this service does not run, because others may change its address. */
  #requireOwnBroker(): void {
    if (this.#options.broker.type === 'CLOUD') return;
    throw new ServiceError(
      'NOT_SUPPORTED_BY_BROKER',
      'Server certificates can only be deployed to brokers that this service runs: copy the certificate and its key to the files that the configuration of the broker names',
    );
  }

  /** `cancel` is called for each listener that is not tried, because the broker is not reachable. */
  async #runInSequence(
    targets: readonly Target[],
    change: (listener: FoundListener) => Promise<void>,
    cancel: (listener: FoundListener) => Promise<void> = async () => undefined,
  ): Promise<ListenerOutcome[]> {
    const outcomes: ListenerOutcome[] = [];
    let unreachable: ServiceError | null = null;
    for (const found of targets) {
      if (found instanceof ServiceError) outcomes.push(found);
      else if (unreachable !== null) {
        await cancel(found);
        outcomes.push(unreachable);
      } else {
        const outcome = (await caught(() => change(found))) ?? null;
        unreachable = outcome && ofBroker(outcome);
        outcomes.push(outcome);
      }
    }
    return outcomes;
  }

  async #deployOn(
    runtime: BrokerRuntime,
    listener: FoundListener,
    row: CertificateRow,
    material: CertificateMaterial,
    wasDeployed: boolean,
  ): Promise<void> {
    const { rows, broker, timeoutMs } = this.#options;
    const deployment = deploymentOf(row.id, broker, listener);
    const { leaf, key } = material;
    const file = { fileName: row.filename, fingerprint256: leaf.fingerprint256, isServer: key !== null };
    try {
      await this.#send(runtime, listener.id, file, material, wasDeployed);
    } catch (error) {
      const presence = isLost(error) ? await presenceAfterLoss(runtime, listener.id, file, timeoutMs) : 'ABSENT';
      if (presence !== 'PRESENT') {
        if (presence === 'NOT_REPORTED') throw unknown(error, 'deployed');
        if (!wasDeployed) await rows.remove(deployment);
        throw error;
      }
    }
    await rows.confirm(deployment, file.isServer);
  }

  async #send(
    runtime: BrokerRuntime,
    listenerId: number,
    file: CertificateFile,
    { cert, key }: CertificateMaterial,
    wasDeployed: boolean,
  ): Promise<void> {
    const { controls } = runtime;
    const { fileName } = file;
    if (key !== null) {
      const files = { file_name: fileName, cert_pem: cert, key_pem: key };
      await changeListener(controls, 'setServerCertificate', listenerId, files);
      return;
    }
    const authority = { file_name: fileName, ca_cert_pem: cert };
    try {
      await changeListener(controls, 'insertCACertificate', listenerId, authority);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'ALREADY_EXISTS') throw error;
      const presence = await presenceOn(runtime, listenerId, file);
      // A broker that does not list its files has the file of the earlier deployment, which has not changed since.
      if (presence === 'PRESENT' || (presence === 'NOT_REPORTED' && wasDeployed)) return;
      // All files of brokers that this service runs are its own: this one is an older file from a backup.
      if (presence === 'OTHER' && this.#options.broker.type === 'CLOUD') {
        await changeListener(controls, 'deleteCACertificate', listenerId, { file_name: fileName });
        await changeListener(controls, 'insertCACertificate', listenerId, authority);
        return;
      }
      throw new ServiceError(
        'ALREADY_EXISTS',
        `The listener already has another file "${fileName}": give the certificate another filename, or first undeploy this certificate from the listener, which deletes the existing file`,
        { info: { ...error.info } },
      );
    }
  }

  async #undeployOn(
    runtime: BrokerRuntime,
    listener: FoundListener,
    certificateId: string,
    file: CertificateFile,
  ): Promise<void> {
    const { rows, broker, timeoutMs } = this.#options;
    const deployment = deploymentOf(certificateId, broker, listener);
    const { controls } = runtime;
    try {
      if (!file.isServer) {
        await changeListener(controls, 'deleteCACertificate', listener.id, { file_name: file.fileName });
        // Another certificate may have replaced a server certificate.
      } else if ((await presenceOn(runtime, listener.id, file)) === 'PRESENT') {
        await changeListener(controls, 'removeServerCertificate', listener.id);
      }
    } catch (error) {
      const presence = isLost(error) ? await presenceAfterLoss(runtime, listener.id, file, timeoutMs) : 'PRESENT';
      if (presence === 'NOT_REPORTED') {
        await rows.markUnconfirmed(deployment);
        throw unknown(error, 'undeployed');
      }
      if (presence === 'PRESENT' && !isMissingFile(error)) throw error;
    }
    await rows.remove(deployment);
  }
}

const deploymentOf = (
  certificateId: string,
  { id }: BrokerRecord,
  { port, bindAddress }: FoundListener,
): DeploymentKey => ({ certificateId, brokerId: id, port, bindAddress });

const keyOf = ({ port, bindAddress }: Pick<FoundListener, 'port' | 'bindAddress'>): string => `${port} ${bindAddress}`;

const matches = (row: DeploymentKey, { port, bindAddress }: ListenerAddress): boolean =>
  row.port === port && (bindAddress === null || row.bindAddress === bindAddress);

/** Returns a ServiceError instead of throwing it. */
async function caught<T>(work: () => T | Promise<T>): Promise<T | ServiceError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const targetsAt = (listeners: readonly ListenerEntry[], addresses: readonly ListenerAddress[]): Promise<Target[]> =>
  Promise.all(addresses.map((address) => caught(() => findListener(listeners, address))));

/** Each of the remaining listeners would wait for the timeout again. */
function ofBroker({ code, message }: ServiceError): ServiceError | null {
  if (code !== 'BROKER_UNREACHABLE' && code !== 'BROKER_TIMEOUT') return null;
  return new ServiceError(code, `Not tried, because an earlier listener of this broker failed: ${message}`);
}

function unknown(cause: unknown, done: string): ServiceError {
  const { code, message } = cause as ServiceError;
  const text = `It is unknown whether the certificate was ${done}, because the response was lost: ${message}`;
  return new ServiceError(code, text, { info: { outcome: 'unknown' }, cause });
}

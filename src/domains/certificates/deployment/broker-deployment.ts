import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { CERTIFICATE_API, type ListenerEntry } from '../certificate-commands.ts';
import {
  deleteAuthority,
  insertAuthority,
  isLost,
  isMissingFile,
  listListeners,
  removeServerCertificate,
  setServerCertificate,
} from '../certificate-control.ts';
import type { CertificateRow } from '../certificate-directory.ts';
import type { CertificateMaterial } from '../material/certificate-material.ts';
import { type FileMeant, presenceAfterLoss, presenceOn } from './deployed-files.ts';
import type { DeploymentPlace, DeploymentRows } from './deployment-rows.ts';
import { type FoundListener, findListener, type ListenerPlace } from './listener-match.ts';

/** What became of one listener; null: it was done. */
export type ListenerOutcome = ServiceError | null;

export interface BrokerDeploymentOptions {
  readonly broker: BrokerRecord;
  readonly runtimes: BrokerRuntimes;
  readonly rows: DeploymentRows;
  readonly timeoutMs: number;
  /** The key of a stored certificate in the clear; it is a server's. Errors: INVALID for one that must not be deployed any more. */
  readonly materialOf: (row: CertificateRow) => CertificateMaterial;
}

/** A listener as somebody named it, and as the broker has it. */
interface Aim {
  readonly found: FoundListener | ServiceError;
}

/**
 * Changes of certificates on the listeners of one broker, one listener after the other. What is recorded is what the broker confirmed; an
 * answer that was lost is read back where the broker tells what it uses. A broker that is gone is not asked for the other listeners.
 * To be run in the broker's turn. Errors: of the broker as a whole, before anything was changed.
 */
export class BrokerDeployment {
  readonly #options: BrokerDeploymentOptions;

  constructor(options: BrokerDeploymentOptions) {
    this.#options = options;
  }

  /** One outcome for each place, in their order. */
  async deploy(certificateId: string, isServer: boolean, places: readonly ListenerPlace[]): Promise<ListenerOutcome[]> {
    const { rows, broker, materialOf } = this.#options;
    if (isServer) this.#refuseForeignServer();
    const { runtime, listeners } = await this.#look();
    const aims = places.map((place) => aimAt(listeners, place));
    const found = aims.flatMap(({ found }) => (found instanceof ServiceError ? [] : [found]));
    const row = await rows.reserve(
      certificateId,
      found.map((listener) => placeOf(certificateId, broker, listener)),
    );
    const begun = new Set(row.deployments.filter(({ brokerId }) => brokerId === broker.id).map(keyOf));
    const giveUp = async (listener: FoundListener) => {
      if (!begun.has(keyOf(listener))) await rows.remove(placeOf(certificateId, broker, listener));
    };
    let material: CertificateMaterial;
    try {
      material = materialOf(row);
      if (material.key !== null) this.#refuseForeignServer();
    } catch (error) {
      for (const listener of found) await giveUp(listener);
      throw error;
    }
    const send = (listener: FoundListener) =>
      this.#deployOn(runtime, listener, row, material, begun.has(keyOf(listener)));
    return this.#inOrder(aims, send, giveUp);
  }

  /** As `deploy`. What is not there, or on a listener that is gone, is undeployed. */
  async undeploy(certificateId: string, file: FileMeant, places: readonly ListenerPlace[]): Promise<ListenerOutcome[]> {
    const { rows, broker } = this.#options;
    const { runtime, listeners } = await this.#look();
    const recorded = await rows.on(certificateId, broker.id);
    const aims = places.map((place) => aimAt(listeners, place));
    const outcomes = await this.#inOrder(aims, (found) => this.#undeployOn(runtime, found, certificateId, file));
    for (const [index, place] of places.entries()) {
      const found = aims[index]?.found;
      if (!(found instanceof ServiceError) || found.code === 'INVALID') continue;
      // A listener that is gone, or has no TLS any more, uses no certificate.
      const left = recorded.filter((row) => isMeant(row, place));
      for (const row of left) await rows.remove(row);
      if (left.length > 0) outcomes[index] = null;
    }
    return outcomes;
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER with what would help, and those of a broker that cannot be asked. */
  async #look(): Promise<{ readonly runtime: BrokerRuntime; readonly listeners: readonly ListenerEntry[] }> {
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
      return { runtime, listeners: listeners as ListenerEntry[] };
    });
  }

  /** A key does not leave for a broker that somebody else runs, or whose address others may change. */
  #refuseForeignServer(): void {
    if (this.#options.broker.type === 'CLOUD') return;
    throw new ServiceError(
      'NOT_SUPPORTED_BY_BROKER',
      'Certificates of servers are deployed to brokers that this service runs; put this one and its key where the configuration of the broker names them',
    );
  }

  /** `giveUp`: what to do for a listener that is not tried. */
  async #inOrder(
    aims: readonly Aim[],
    change: (listener: FoundListener) => Promise<void>,
    giveUp: (listener: FoundListener) => Promise<void> = async () => undefined,
  ): Promise<ListenerOutcome[]> {
    const outcomes: ListenerOutcome[] = [];
    let gone: ServiceError | null = null;
    for (const { found } of aims) {
      if (found instanceof ServiceError) outcomes.push(found);
      else if (gone !== null) {
        await giveUp(found);
        outcomes.push(gone);
      } else {
        const outcome = await settled(change(found));
        gone = outcome && ofBroker(outcome);
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
    wasThere: boolean,
  ): Promise<void> {
    const { rows, broker, timeoutMs } = this.#options;
    const place = placeOf(row.id, broker, listener);
    const file = fileOf(row, material);
    try {
      await this.#send(runtime, listener.id, file, material, wasThere);
    } catch (error) {
      const presence = isLost(error) ? await presenceAfterLoss(runtime, listener.id, file, timeoutMs) : 'ABSENT';
      if (presence !== 'THERE') {
        if (presence === 'UNTOLD') throw unknown(error, 'deployed');
        if (!wasThere) await rows.remove(place);
        throw error;
      }
    }
    await rows.confirm(place, file.isServer);
  }

  async #send(
    runtime: BrokerRuntime,
    listenerId: number,
    file: FileMeant,
    { cert, key }: CertificateMaterial,
    wasThere: boolean,
  ): Promise<void> {
    const { controls } = runtime;
    const { fileName } = file;
    if (key !== null) return setServerCertificate(controls, listenerId, { fileName, cert, key });
    try {
      await insertAuthority(controls, listenerId, fileName, cert);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'ALREADY_EXISTS') throw error;
      const presence = await presenceOn(runtime, listenerId, file);
      // A broker that does not tell has the file that it was given before, which has not changed since.
      if (presence === 'THERE' || (presence === 'UNTOLD' && wasThere)) return;
      // All files of brokers that run here are of this service: an older one of the name, from a backup.
      if (presence === 'OTHER' && this.#options.broker.type === 'CLOUD') {
        await deleteAuthority(controls, listenerId, fileName);
        return insertAuthority(controls, listenerId, fileName, cert);
      }
      throw new ServiceError(
        'ALREADY_EXISTS',
        `The listener has another file "${fileName}" already: give the certificate another filename, or undeploy it there, which removes the file`,
        { info: { ...error.info } },
      );
    }
  }

  async #undeployOn(
    runtime: BrokerRuntime,
    listener: FoundListener,
    certificateId: string,
    file: FileMeant,
  ): Promise<void> {
    const { rows, broker, timeoutMs } = this.#options;
    const place = placeOf(certificateId, broker, listener);
    const { controls } = runtime;
    try {
      if (!file.isServer) await deleteAuthority(controls, listener.id, file.fileName);
      // Another one may have taken its place.
      else if ((await presenceOn(runtime, listener.id, file)) === 'THERE') {
        await removeServerCertificate(controls, listener.id);
      }
    } catch (error) {
      const presence = isLost(error) ? await presenceAfterLoss(runtime, listener.id, file, timeoutMs) : 'THERE';
      if (presence === 'UNTOLD') {
        await rows.doubt(place);
        throw unknown(error, 'undeployed');
      }
      if (presence === 'THERE' && !isMissingFile(error)) throw error;
    }
    await rows.remove(place);
  }
}

function aimAt(listeners: readonly ListenerEntry[], place: ListenerPlace): Aim {
  try {
    return { found: findListener(listeners, place) };
  } catch (error) {
    if (error instanceof ServiceError) return { found: error };
    throw error;
  }
}

const placeOf = (
  certificateId: string,
  { id }: BrokerRecord,
  { port, bindAddress }: FoundListener,
): DeploymentPlace => ({
  certificateId,
  brokerId: id,
  port,
  bindAddress,
});

const fileOf = ({ filename }: CertificateRow, { leaf, key }: CertificateMaterial): FileMeant => ({
  fileName: filename,
  fingerprint256: leaf.fingerprint256,
  isServer: key !== null,
});

const keyOf = ({ port, bindAddress }: Pick<FoundListener, 'port' | 'bindAddress'>): string => `${port} ${bindAddress}`;

const isMeant = (row: DeploymentPlace, { port, bindAddress }: ListenerPlace): boolean =>
  row.port === port && (bindAddress === null || row.bindAddress === bindAddress);

async function settled(work: Promise<void>): Promise<ListenerOutcome> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** Of a broker that is away the other listeners are not tried: each would wait as long. */
function ofBroker({ code, message }: ServiceError): ServiceError | null {
  if (code !== 'BROKER_UNREACHABLE' && code !== 'BROKER_TIMEOUT') return null;
  return new ServiceError(code, `Not tried after another listener of this broker: ${message}`);
}

function unknown(cause: unknown, done: string): ServiceError {
  const { code, message } = cause as ServiceError;
  return new ServiceError(code, `It is not known whether it was ${done}, because the answer was lost: ${message}`, {
    info: { outcome: 'unknown' },
    cause,
  });
}

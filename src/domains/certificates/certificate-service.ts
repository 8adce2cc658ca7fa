import type { Prisma } from '../../generated/sqlite/client.ts';
import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  roleIn,
  seesBroker,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { invalid, notFound, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Database } from '../../platform/storage/database.ts';
import { goneMeansNotFound, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { MAX_NAME } from '../../platform/text/texts.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import {
  CERTIFICATE_PARTS,
  type CertificateDirectory,
  type CertificateRecord,
  type CertificateRow,
  type DeploymentRecord,
} from './certificate-directory.ts';
import { type CertificateChange, checkedInput, checkNames, type NewCertificate } from './certificate-input.ts';

/** Most certificates of one project: all of them are held in memory. */
export const MAX_CERTIFICATES = 1_000;

export interface CertificateServiceOptions {
  readonly db: Database;
  readonly directory: CertificateDirectory;
  readonly brokers: BrokerCache;
  readonly sealer: Sealer;
}

export interface CertificateFilter {
  /** Only those that are deployed on this broker. */
  readonly brokerId?: string | null | undefined;
  /** The one with this filename. */
  readonly filename?: string | null | undefined;
}

/** A confirmed deployment, with the broker that it is on. */
export interface CertificateOnListener extends DeploymentRecord {
  readonly certificate: CertificateRecord;
  readonly broker: BrokerRecord;
}

/** Where the key of a certificate is sealed for. */
export const keyContext = (certificateId: string): string => `${certificateId}/key`;

/**
 * The certificates of projects. What is stored is judged first, its key is sealed and never told. A certificate that is deployed, or
 * may be, neither changes nor goes.
 */
export class CertificateService {
  readonly #db: Database;
  readonly #directory: CertificateDirectory;
  readonly #brokers: BrokerCache;
  readonly #sealer: Sealer;

  constructor({ db, directory, brokers, sealer }: CertificateServiceOptions) {
    this.#db = db;
    this.#directory = directory;
    this.#brokers = brokers;
    this.#sealer = sealer;
  }

  /**
   * The certificate if the viewer sees its project, has the role there, and it is in `projectId` where one is given.
   * Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED.
   */
  visible(
    id: string,
    viewer: Viewer | null,
    role: ProjectRole = 'VIEWER',
    projectId?: string | null,
  ): CertificateRecord {
    const known = requireSignedIn(viewer);
    const certificate = this.#directory.get(id);
    if (certificate === null) throw notFound('certificate', id);
    if (roleIn(known, certificate.projectId) === null) throw new OutOfSight('certificate', id);
    if (projectId != null && certificate.projectId !== projectId) throw notFound('certificate', id);
    requireProjectRole(known, certificate.projectId, role);
    return certificate;
  }

  /** In order of creation. Errors: NOT_FOUND: the broker, or with `filename` the certificate (that is deployed there). */
  list(projectId: string, viewer: Viewer | null, filter: CertificateFilter = {}): readonly CertificateRecord[] {
    const { brokerId, filename } = filter;
    let certificates = this.#directory.ofProject(projectId);
    if (brokerId != null) {
      const broker = this.#brokers.get(brokerId);
      if (broker !== null && !seesBroker(requireSignedIn(viewer), broker)) throw new OutOfSight('broker', brokerId);
      if (broker === null || broker.projectId !== projectId) throw notFound('broker', brokerId);
      certificates = certificates.filter(({ deployments }) => deployments.some((one) => isOn(one, brokerId)));
    }
    if (filename == null) return certificates;
    const found = certificates.find((certificate) => certificate.filename === filename);
    if (found === undefined) throw notFound('certificate', filename);
    return [found];
  }

  /** Those that brokers have confirmed, on brokers that the viewer sees. */
  deploymentsOf(certificate: CertificateRecord, viewer: Viewer | null): CertificateOnListener[] {
    const known = requireSignedIn(viewer);
    return certificate.deployments.flatMap((deployment) => {
      const broker = this.#brokers.get(deployment.brokerId);
      const isSeen = broker !== null && deployment.deployedAt !== null && seesBroker(known, broker);
      return isSeen ? [{ ...deployment, certificate, broker }] : [];
    });
  }

  /** What is deployed on a broker, by its listeners. */
  deployedOn({ id, projectId }: BrokerRecord): CertificateOnListener[] {
    return this.#directory.ofProject(projectId).flatMap((certificate) => {
      const broker = this.#brokers.get(id);
      if (broker === null) return [];
      return certificate.deployments
        .filter((deployment) => isOn(deployment, id))
        .map((deployment) => ({ ...deployment, certificate, broker }));
    });
  }

  /** Errors: INVALID, ALREADY_EXISTS (the filename), NOT_FOUND (the project). */
  async create(projectId: string, input: NewCertificate): Promise<CertificateRecord> {
    checkNames(input);
    const { cert, key } = checkedInput(input);
    if (this.#directory.ofProject(projectId).length >= MAX_CERTIFICATES) {
      throw invalid([{ path: 'input.projectId', reason: `has ${MAX_CERTIFICATES} certificates: delete others first` }]);
    }
    const id = newId('certificate');
    const { filename } = input;
    const name = input.name?.trim() ?? filename.slice(0, MAX_NAME);
    const data = { id, projectId, name, filename, cert, sealedKey: key && this.#sealer.seal(key, keyContext(id)) };
    await this.#db.certificate
      .create({ data })
      .catch(takenFilename(filename))
      .catch(goneMeansNotFound('project', projectId));
    return this.#written(id);
  }

  /**
   * Only what is given changes. A new certificate without a key goes with the key that is stored, if it belongs to it.
   * Errors: INVALID, NOT_FOUND, ALREADY_EXISTS (the filename), IN_USE (it is deployed, or may be).
   */
  async update(id: string, change: CertificateChange): Promise<CertificateRecord> {
    checkNames(change);
    const { name, filename } = change;
    await serializable(this.#db, async (tx) => {
      const row = await this.#undeployed(tx, id);
      const data = {
        ...(name == null ? {} : { name: name.trim() }),
        ...(filename == null ? {} : { filename }),
        ...this.#changedMaterial(row, change),
      };
      await tx.certificate.update({ where: { id }, data });
    })
      .catch(takenFilename(filename ?? ''))
      .catch(goneMeansNotFound('certificate', id));
    return this.#written(id);
  }

  /** Errors: NOT_FOUND, IN_USE (it is deployed, or may be). */
  async remove(id: string): Promise<CertificateRecord> {
    const certificate = this.#directory.get(id);
    await serializable(this.#db, async (tx) => {
      await this.#undeployed(tx, id);
      await tx.certificate.delete({ where: { id } });
    }).catch(goneMeansNotFound('certificate', id));
    await this.#directory.written([id]);
    if (certificate === null) throw notFound('certificate', id);
    return certificate;
  }

  async #written(id: string): Promise<CertificateRecord> {
    await this.#directory.written([id]);
    const record = this.#directory.get(id);
    if (record === null) throw notFound('certificate', id);
    return record;
  }

  /** Within a serializable transaction: a deployment that begins meanwhile makes one of both begin again. */
  async #undeployed(tx: Prisma.TransactionClient, id: string): Promise<CertificateRow> {
    const row = await tx.certificate.findUnique({ where: { id }, include: CERTIFICATE_PARTS });
    if (row === null) throw notFound('certificate', id);
    if (row.deployments.length > 0) throw this.#inUse(row);
    return row;
  }

  #inUse({ filename, deployments }: CertificateRow): ServiceError {
    const place = ({ brokerId, port }: CertificateRow['deployments'][number]) =>
      `"${this.#brokers.get(brokerId)?.name ?? brokerId}" (port ${port})`;
    const confirmed = deployments.filter(({ deployedAt }) => deployedAt !== null);
    const shown = (confirmed.length > 0 ? confirmed : deployments).slice(0, 3).map(place).join(', ');
    const message =
      confirmed.length > 0
        ? `"${filename}" is deployed on ${shown}: undeploy it first`
        : `"${filename}" was sent to ${shown}, and what became of it is not known yet: deploy it again there, or undeploy it`;
    return new ServiceError('IN_USE', message, {
      info: { brokers: [...new Set(deployments.map((one) => one.brokerId))] },
    });
  }

  #changedMaterial(row: CertificateRow, { cert, privateKey }: CertificateChange): Prisma.CertificateUpdateInput {
    if (cert == null && privateKey === undefined) return {};
    const stored = () => row.sealedKey && this.#sealer.open(row.sealedKey, keyContext(row.id));
    const given = privateKey !== undefined || (cert ?? '').includes('PRIVATE KEY-----');
    const material = checkedInput({ cert: cert ?? row.cert, privateKey: given ? privateKey : stored() });
    const { key } = material;
    return { cert: material.cert, sealedKey: key && this.#sealer.seal(key, keyContext(row.id)) };
  }
}

const isOn = ({ brokerId, deployedAt }: DeploymentRecord, broker: string): boolean =>
  brokerId === broker && deployedAt !== null;

const takenFilename =
  (filename: string) =>
  (error: unknown): never => {
    if (!isUniqueViolation(error)) throw error;
    throw new ServiceError('ALREADY_EXISTS', `There is already a certificate with the filename "${filename}"`, {
      cause: error,
    });
  };

import type { RowQuery } from '../../gateway/graphql/row-connection.ts';
import type { Certificate, Prisma } from '../../generated/sqlite/client.ts';
import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  roleIn,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { invalid, notFound, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { RowLock } from '../../platform/storage/postgresql/row-lock.ts';
import { isUniqueViolation, missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { MAX_NAME } from '../../platform/text/texts.ts';
import type { ChainFacts } from '../../protocol/certificates/chain-facts.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import {
  CERTIFICATE_PARTS,
  type CertificateCache,
  type CertificateRecord,
  type CertificateRow,
} from './certificate-cache.ts';
import { type CertificateChange, checkedInput, checkNames, type NewCertificate } from './certificate-input.ts';

const MAX_CERTIFICATES = 1_000;

interface CertificateServiceOptions {
  readonly db: Database;
  readonly cache: CertificateCache;
  readonly brokers: BrokerCache;
  readonly sealer: Sealer;
}

interface CertificateList {
  readonly projectId: string;
  /** Only those that are deployed on this broker. */
  readonly brokerId?: string | null | undefined;
  readonly filename?: string | null | undefined;
}

export const keyContext = (certificateId: string): string => `${certificateId}/key`;

/** Certificates are validated before they are stored. One that is or may be deployed cannot be changed or deleted. */
export class CertificateService {
  readonly #options: CertificateServiceOptions;
  readonly #lock: RowLock;

  constructor(options: CertificateServiceOptions) {
    this.#options = options;
    this.#lock = new RowLock(options.db);
  }

  /** If given, `projectId` must be its project. Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  visible(
    id: string,
    viewer: Viewer | null,
    role: ProjectRole = 'VIEWER',
    projectId?: string | null,
  ): CertificateRecord {
    const known = requireSignedIn(viewer);
    const certificate = this.#options.cache.get(id);
    if (certificate === null) throw notFound('certificate', id);
    if (roleIn(known, certificate.projectId) === null) throw new OutOfSight('certificate', id);
    if (projectId != null && certificate.projectId !== projectId) throw notFound('certificate', id);
    requireProjectRole(known, certificate.projectId, role);
    return certificate;
  }

  /** Errors: NOT_FOUND (with `filename`: the certificate). */
  async list(target: CertificateList, { where, ...query }: RowQuery): Promise<Certificate[]> {
    const found = await this.#options.db.certificate.findMany({
      ...query,
      where: { AND: [this.#whereOf(target), where] },
    });
    const { filename } = target;
    if (filename != null && found.length === 0 && (await this.count(target)) === 0) {
      throw notFound('certificate', filename);
    }
    return found;
  }

  count(target: CertificateList): Promise<number> {
    return this.#options.db.certificate.count({ where: this.#whereOf(target) });
  }

  /** Facts that are parsed from the text of a row. */
  factsOf(row: Pick<Certificate, 'id' | 'cert'>): ChainFacts {
    return this.#options.cache.factsOf(row);
  }

  /** Without reading the key of a row. */
  async hasPrivateKey(id: string): Promise<boolean> {
    const { cache, db } = this.#options;
    const known = cache.get(id)?.hasPrivateKey;
    return known ?? (await db.certificate.count({ where: { id, sealedKey: { not: null } } })) > 0;
  }

  /** Errors: INVALID, ALREADY_EXISTS (the filename), NOT_FOUND (the project). */
  async create(projectId: string, input: NewCertificate): Promise<CertificateRecord> {
    checkNames(input);
    const { cert, key } = await checkedInput(input);
    const id = newId('certificate');
    const { filename } = input;
    const name = input.name?.trim() ?? filename.slice(0, MAX_NAME);
    const data = {
      id,
      projectId,
      name,
      filename,
      cert,
      sealedKey: key && this.#options.sealer.seal(key, keyContext(id)),
    };
    await this.#lock
      .run('Project', projectId, async (tx) => {
        if ((await tx.certificate.count({ where: { projectId } })) >= MAX_CERTIFICATES) {
          const reason = `has ${MAX_CERTIFICATES} certificates: delete others first`;
          throw invalid([{ path: 'input.projectId', reason }]);
        }
        await tx.certificate.create({ data });
      })
      .catch(toAlreadyExists(filename));
    return this.#refreshed(id);
  }

  /** Errors: INVALID, NOT_FOUND, ALREADY_EXISTS (the filename), IN_USE (it is or may be deployed). */
  async update(id: string, change: CertificateChange): Promise<CertificateRecord> {
    checkNames(change);
    const { name, filename } = change;
    const before = await this.#undeployed(this.#options.db, id);
    // Not within the transaction, for which all statements of SQLite wait.
    const data = {
      ...(name == null ? {} : { name: name.trim() }),
      ...(filename == null ? {} : { filename }),
      ...(await this.#changedMaterial(before, change)),
    };
    await serializable(this.#options.db, async (tx) => {
      const { cert, sealedKey } = await this.#undeployed(tx, id);
      if (cert !== before.cert || sealedKey !== before.sealedKey)
        throw new ServiceError('IN_USE', 'The certificate was changed at the same time: try again');
      await tx.certificate.update({ where: { id }, data });
    })
      .catch(toAlreadyExists(filename ?? ''))
      .catch(missingAsNotFound('certificate', id));
    return this.#refreshed(id);
  }

  async remove(id: string): Promise<CertificateRecord> {
    const certificate = this.#options.cache.get(id);
    await serializable(this.#options.db, async (tx) => {
      await this.#undeployed(tx, id);
      await tx.certificate.delete({ where: { id } });
    }).catch(missingAsNotFound('certificate', id));
    await this.#options.cache.refreshAndAnnounce([id]);
    if (certificate === null) throw notFound('certificate', id);
    return certificate;
  }

  #whereOf({ projectId, brokerId, filename }: CertificateList): Prisma.CertificateWhereInput {
    const { unreadable } = this.#options.cache;
    return {
      projectId,
      ...(unreadable.length === 0 ? {} : { id: { notIn: [...unreadable] } }),
      ...(brokerId == null ? {} : { deployments: { some: { brokerId, deployedAt: { not: null } } } }),
      ...(filename == null ? {} : { filename }),
    };
  }

  async #refreshed(id: string): Promise<CertificateRecord> {
    await this.#options.cache.refreshAndAnnounce([id]);
    const record = this.#options.cache.get(id);
    if (record === null) throw notFound('certificate', id);
    return record;
  }

  /** In a serializable transaction a concurrent deployment restarts one of the two. */
  async #undeployed(tx: Pick<Prisma.TransactionClient, 'certificate'>, id: string): Promise<CertificateRow> {
    const row = await tx.certificate.findUnique({ where: { id }, include: CERTIFICATE_PARTS });
    if (row === null) throw notFound('certificate', id);
    if (row.deployments.length > 0) throw this.#inUse(row);
    return row;
  }

  #inUse({ filename, deployments }: CertificateRow): ServiceError {
    const place = ({ brokerId, port }: CertificateRow['deployments'][number]) =>
      `"${this.#options.brokers.get(brokerId)?.name ?? brokerId}" (port ${port})`;
    const confirmed = deployments.filter(({ deployedAt }) => deployedAt !== null);
    const shown = (confirmed.length > 0 ? confirmed : deployments).slice(0, 3).map(place).join(', ');
    const message =
      confirmed.length > 0
        ? `"${filename}" is deployed on ${shown}: undeploy it first`
        : `"${filename}" was sent to ${shown}, and the result is not known yet: deploy it there again, or undeploy it`;
    return new ServiceError('IN_USE', message, {
      info: { brokers: [...new Set(deployments.map((one) => one.brokerId))] },
    });
  }

  async #changedMaterial(
    row: CertificateRow,
    { cert, privateKey }: CertificateChange,
  ): Promise<Prisma.CertificateUpdateInput> {
    if (cert == null && privateKey === undefined) return {};
    const stored = () => row.sealedKey && this.#options.sealer.open(row.sealedKey, keyContext(row.id));
    const given = privateKey !== undefined || (cert ?? '').includes('PRIVATE KEY-----');
    const material = await checkedInput({ cert: cert ?? row.cert, privateKey: given ? privateKey : stored() });
    const { key } = material;
    return { cert: material.cert, sealedKey: key && this.#options.sealer.seal(key, keyContext(row.id)) };
  }
}

const toAlreadyExists =
  (filename: string) =>
  (error: unknown): never => {
    if (!isUniqueViolation(error)) throw error;
    throw new ServiceError('ALREADY_EXISTS', `A certificate with the filename "${filename}" already exists`, {
      cause: error,
    });
  };

import { notFound } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import { serializable } from '../../../platform/storage/serializable.ts';
import { CERTIFICATE_PARTS, type CertificateCache, type CertificateRow } from '../certificate-cache.ts';

export interface DeploymentKey {
  readonly certificateId: string;
  readonly brokerId: string;
  readonly port: number;
  readonly bindAddress: string;
}

/** A deployment is reserved before anything is sent, so that the certificate cannot change meanwhile. */
export class DeploymentRows {
  readonly #db: Database;
  readonly #cache: CertificateCache;

  constructor(db: Database, cache: CertificateCache) {
    this.#db = db;
    this.#cache = cache;
  }

  async reserve(certificateId: string, requested: readonly DeploymentKey[]): Promise<CertificateRow> {
    return serializable(this.#db, async (tx) => {
      const row = await tx.certificate.findUnique({ where: { id: certificateId }, include: CERTIFICATE_PARTS });
      if (row === null) throw notFound('certificate', certificateId);
      const fresh = requested.filter((deployment) => !row.deployments.some((known) => isSame(known, deployment)));
      await tx.certificateDeployment.createMany({ data: [...fresh] });
      return row;
    });
  }

  /** Removes the deployment of another server certificate on the same listener. */
  async confirm(deployment: DeploymentKey, isServer: boolean): Promise<void> {
    const { certificateId, ...listener } = deployment;
    const replaced = await this.#db
      .$transaction(async (tx) => {
        const others = isServer
          ? { ...listener, certificateId: { not: certificateId }, certificate: { is: { sealedKey: { not: null } } } }
          : null;
        const gone = others === null ? [] : await tx.certificateDeployment.findMany({ where: others });
        if (others !== null) await tx.certificateDeployment.deleteMany({ where: others });
        const deployedAt = new Date();
        await tx.certificateDeployment.upsert({
          where: keyOf(deployment),
          create: { ...deployment, deployedAt },
          update: { deployedAt },
        });
        return gone.map((other) => other.certificateId);
      })
      .catch(missingAsNotFound('certificate', certificateId));
    await this.#cache.refreshAndAnnounce([certificateId, ...replaced]);
  }

  async markUnconfirmed(deployment: DeploymentKey): Promise<void> {
    await this.#db.certificateDeployment.updateMany({ where: deployment, data: { deployedAt: null } });
    await this.#cache.refreshAndAnnounce([deployment.certificateId]);
  }

  async remove(deployment: DeploymentKey): Promise<void> {
    await this.#db.certificateDeployment.deleteMany({ where: deployment });
    await this.#cache.refreshAndAnnounce([deployment.certificateId]);
  }

  async on(certificateId: string, brokerId: string): Promise<DeploymentKey[]> {
    const rows = await this.#db.certificateDeployment.findMany({ where: { certificateId, brokerId } });
    return rows.map(({ port, bindAddress }) => ({ certificateId, brokerId, port, bindAddress }));
  }
}

type Listener = Omit<DeploymentKey, 'certificateId'>;

const isSame = (a: Listener, b: Listener): boolean =>
  a.brokerId === b.brokerId && a.port === b.port && a.bindAddress === b.bindAddress;

const keyOf = ({ certificateId, brokerId, port, bindAddress }: DeploymentKey) => ({
  certificateId_brokerId_port_bindAddress: { certificateId, brokerId, port, bindAddress },
});

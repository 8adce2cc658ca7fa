import { notFound } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { goneMeansNotFound } from '../../../platform/storage/prisma-errors.ts';
import { serializable } from '../../../platform/storage/serializable.ts';
import { CERTIFICATE_PARTS, type CertificateDirectory, type CertificateRow } from '../certificate-directory.ts';

/** Where a certificate is used: a listener of a broker. */
export interface DeploymentPlace {
  readonly certificateId: string;
  readonly brokerId: string;
  readonly port: number;
  readonly bindAddress: string;
}

/**
 * What is stored of deployments. A place is reserved before anything is sent, so that the certificate cannot change until it is known
 * what became of it; it is confirmed by the broker's answer, or given up.
 */
export class DeploymentRows {
  readonly #db: Database;
  readonly #directory: CertificateDirectory;

  constructor(db: Database, directory: CertificateDirectory) {
    this.#db = db;
    this.#directory = directory;
  }

  /** The certificate as it is and stays now, with the deployments that there were before. Errors: NOT_FOUND. */
  async reserve(certificateId: string, places: readonly DeploymentPlace[]): Promise<CertificateRow> {
    return serializable(this.#db, async (tx) => {
      const row = await tx.certificate.findUnique({ where: { id: certificateId }, include: CERTIFICATE_PARTS });
      if (row === null) throw notFound('certificate', certificateId);
      const fresh = places.filter((place) => !row.deployments.some((known) => isSame(known, place)));
      await tx.certificateDeployment.createMany({ data: [...fresh] });
      return row;
    });
  }

  /** The broker uses it there. A listener has one server's certificate: another one that was there has gone. */
  async confirm(place: DeploymentPlace, isServer: boolean): Promise<void> {
    const { certificateId, ...listener } = place;
    const replaced = await this.#db
      .$transaction(async (tx) => {
        const others = isServer
          ? { ...listener, certificateId: { not: certificateId }, certificate: { is: { sealedKey: { not: null } } } }
          : null;
        const gone = others === null ? [] : await tx.certificateDeployment.findMany({ where: others });
        if (others !== null) await tx.certificateDeployment.deleteMany({ where: others });
        const deployedAt = new Date();
        await tx.certificateDeployment.upsert({
          where: keyOf(place),
          create: { ...place, deployedAt },
          update: { deployedAt },
        });
        return gone.map((other) => other.certificateId);
      })
      .catch(goneMeansNotFound('certificate', certificateId));
    await this.#directory.written([certificateId, ...replaced]);
  }

  /** Nobody knows whether it is there. */
  async doubt(place: DeploymentPlace): Promise<void> {
    await this.#db.certificateDeployment.updateMany({ where: place, data: { deployedAt: null } });
    await this.#directory.written([place.certificateId]);
  }

  /** It is not there. */
  async remove(place: DeploymentPlace): Promise<void> {
    await this.#db.certificateDeployment.deleteMany({ where: place });
    await this.#directory.written([place.certificateId]);
  }

  async on(certificateId: string, brokerId: string): Promise<DeploymentPlace[]> {
    const rows = await this.#db.certificateDeployment.findMany({ where: { certificateId, brokerId } });
    return rows.map(({ port, bindAddress }) => ({ certificateId, brokerId, port, bindAddress }));
  }
}

type Listener = Omit<DeploymentPlace, 'certificateId'>;

const isSame = (a: Listener, b: Listener): boolean =>
  a.brokerId === b.brokerId && a.port === b.port && a.bindAddress === b.bindAddress;

const keyOf = ({ certificateId, brokerId, port, bindAddress }: DeploymentPlace) => ({
  certificateId_brokerId_port_bindAddress: { certificateId, brokerId, port, bindAddress },
});

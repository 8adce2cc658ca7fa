import type { Certificate, CertificateDeployment, Prisma } from '../../generated/sqlite/client.ts';
import { kindOfId } from '../../platform/ids.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes/changes.ts';
import { type CacheParts, RowCache } from '../../platform/storage/changes/row-cache.ts';
import type { Database } from '../../platform/storage/database.ts';
import { type ChainFacts, chainFacts } from '../../protocol/certificates/chain-facts.ts';

export interface DeploymentRecord {
  readonly brokerId: string;
  readonly port: number;
  /** As the broker reports it. Empty for all addresses. */
  readonly bindAddress: string;
  /** In ISO 8601. `null` if the certificate was sent and the broker has not confirmed it. */
  readonly deployedAt: string | null;
}

/** A certificate as it is cached, without its key. `createdAt` and `updatedAt` are in ISO 8601. */
export interface CertificateRecord
  extends ChainFacts,
    Readonly<Pick<Certificate, 'id' | 'projectId' | 'name' | 'filename' | 'cert'>> {
  readonly hasPrivateKey: boolean;
  readonly deployments: readonly DeploymentRecord[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const CERTIFICATE_PARTS = {
  deployments: { orderBy: [{ brokerId: 'asc' }, { port: 'asc' }, { bindAddress: 'asc' }] },
} as const satisfies Prisma.CertificateInclude;

export type CertificateRow = Certificate & { readonly deployments: readonly CertificateDeployment[] };

/** Cache of all certificates. Each takes about 10 KB, and a project has at most MAX_CERTIFICATES. */
export class CertificateCache extends RowCache<CertificateRow, CertificateRecord> {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly ofProject = this.listsBy(({ projectId }) => projectId);

  constructor({ db, changes, log }: CacheParts) {
    let known: () => readonly CertificateRecord[] = () => [];
    super({
      changes,
      log,
      // Deployments are deleted with their broker.
      kinds: ['certificate', 'broker'],
      rowsOf: (id) => db.certificate.findMany({ where: whereOf(id, known), include: CERTIFICATE_PARTS }),
      toEntry: toRecord,
    });
    known = () => this.all();
    this.#db = db;
    this.#changes = changes;
  }

  /** The facts of a row: those of the cached certificate unless the row has another text. */
  factsOf({ id, cert }: Pick<Certificate, 'id' | 'cert'>): ChainFacts {
    const known = this.get(id);
    return known?.cert === cert ? known : chainFacts(cert);
  }

  async refreshAndAnnounce(ids: Iterable<string>): Promise<void> {
    const list = [...new Set(ids)];
    const rows = await this.#db.certificate.findMany({ where: { id: { in: list } }, include: CERTIFICATE_PARTS });
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of list) {
      const row = found.get(id);
      if (row === undefined) this.drop(id);
      else this.put(row);
      await this.#changes.announce('certificate', id);
    }
  }

  projectRemoved(projectId: string): void {
    for (const { id } of this.ofProject(projectId)) this.drop(id);
  }
}

function whereOf(id: string, known: () => readonly CertificateRecord[]): Prisma.CertificateWhereInput {
  if (id === ANYTHING) return {};
  if (kindOfId(id) !== 'broker') return { id };
  // The deployments of a deleted broker no longer exist, so the cached ones are used.
  const concerned = known().filter(({ deployments }) => deployments.some(({ brokerId }) => brokerId === id));
  return { id: { in: concerned.map((certificate) => certificate.id) } };
}

function toRecord(row: CertificateRow): CertificateRecord {
  const { sealedKey, deployments, createdAt, updatedAt, ...columns } = row;
  return {
    ...chainFacts(row.cert),
    ...columns,
    hasPrivateKey: sealedKey !== null,
    deployments: deployments.map(({ brokerId, port, bindAddress, deployedAt }) => ({
      brokerId,
      port,
      bindAddress,
      deployedAt: deployedAt?.toISOString() ?? null,
    })),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

import type { Logger } from 'pino';
import type { Certificate, CertificateDeployment, Prisma } from '../../generated/sqlite/client.ts';
import { kindOfId } from '../../platform/ids.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { Directory } from '../../platform/storage/directory.ts';
import { type CertificateFacts, factsOf } from './material/certificate-facts.ts';
import { missingIssuer, readMaterial } from './material/certificate-material.ts';

/** Where a certificate is in use, or may be. */
export interface DeploymentRecord {
  readonly brokerId: string;
  readonly port: number;
  /** As the broker tells it; empty: all addresses. */
  readonly bindAddress: string;
  /** ISO 8601; null: it was sent, and the broker has not confirmed it. */
  readonly deployedAt: string | null;
}

/** A certificate as it is held in memory, without its key; `createdAt` and `updatedAt` are ISO 8601. */
export interface CertificateRecord extends CertificateFacts {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly filename: string;
  /** PEM: the certificate, and those of its chain. */
  readonly cert: string;
  /** It is a server's; else an authority. */
  readonly hasPrivateKey: boolean;
  /** Those after it, each the issuer of the one before. */
  readonly chain: readonly CertificateFacts[];
  /** Who issued the last one of the chain, where that is not in it. */
  readonly missingIssuer: string | null;
  /** When the first certificate of the chain expires, epoch milliseconds. */
  readonly expiresAt: number;
  readonly deployments: readonly DeploymentRecord[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What is read with each row. */
export const CERTIFICATE_PARTS = {
  deployments: { orderBy: [{ brokerId: 'asc' }, { port: 'asc' }, { bindAddress: 'asc' }] },
} as const satisfies Prisma.CertificateInclude;

export type CertificateRow = Certificate & { readonly deployments: readonly CertificateDeployment[] };

/** Every certificate, some ten kilobytes each: a project has MAX_CERTIFICATES at most. */
export class CertificateDirectory extends Directory<CertificateRow, CertificateRecord> {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #byProject = new Map<string, readonly CertificateRecord[]>();

  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    let known: () => readonly CertificateRecord[] = () => [];
    super({
      changes,
      log,
      // With a broker go the deployments on it.
      kinds: ['certificate', 'broker'],
      rowsOf: (id) => db.certificate.findMany({ where: whereOf(id, known), include: CERTIFICATE_PARTS }),
      toEntry: toRecord,
    });
    known = () => this.all();
    this.#db = db;
    this.#changes = changes;
    // Before anybody else is told.
    this.onChange((after, before) => this.#byProject.delete((after ?? before)?.projectId ?? ''));
  }

  /** In order of creation; the same array until one of them changes. */
  ofProject(projectId: string): readonly CertificateRecord[] {
    const known = this.#byProject.get(projectId);
    if (known !== undefined) return known;
    const certificates = this.all().filter((certificate) => certificate.projectId === projectId);
    this.#byProject.set(projectId, certificates);
    return certificates;
  }

  /** What was just written, for this process and for others. */
  async written(ids: Iterable<string>): Promise<void> {
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

  /** Their rows went with the project. */
  projectRemoved(projectId: string): void {
    for (const { id } of this.ofProject(projectId)) this.drop(id);
  }
}

function whereOf(id: string, known: () => readonly CertificateRecord[]): Prisma.CertificateWhereInput {
  if (id === ANYTHING) return {};
  if (kindOfId(id) !== 'broker') return { id };
  // Those that were deployed there: what was removed cannot be asked for.
  const concerned = known().filter(({ deployments }) => deployments.some(({ brokerId }) => brokerId === id));
  return { id: { in: concerned.map((certificate) => certificate.id) } };
}

function toRecord(row: CertificateRow): CertificateRecord {
  const { id, projectId, name, filename, cert, sealedKey, deployments, createdAt, updatedAt } = row;
  const material = readMaterial({ cert });
  const [leaf, ...chain] = [material.leaf, ...material.chain].map(factsOf) as [CertificateFacts, ...CertificateFacts[]];
  return {
    ...leaf,
    id,
    projectId,
    name,
    filename,
    cert,
    hasPrivateKey: sealedKey !== null,
    chain,
    missingIssuer: missingIssuer(material),
    expiresAt: Math.min(...[leaf, ...chain].map(({ validTo }) => Date.parse(validTo))),
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

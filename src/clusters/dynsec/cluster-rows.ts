import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import { notFound } from '../../errors.ts';
import type { Database } from '../../storage/database.ts';
import { goneMeansNotFound } from '../../storage/prisma-errors.ts';
import type { Sealer } from '../../storage/sealed.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { BegunWrite, ClusterRecord } from '../model/cluster.ts';

export interface ClusterRowsOptions {
  readonly db: Database;
  readonly directory: ClusterDirectory;
  readonly sealer: Sealer;
}

/** A change of the document that all nodes shall have. */
export interface NewDocument {
  readonly document: AccessDocument;
  /** The nodes that have it already. */
  readonly nodeIds: readonly number[];
  /** Set with it, by user name; to be kept for the other nodes. */
  readonly passwords: ReadonlyMap<string, string>;
}

/** What is stored of clusters that this service keeps. Each write is one transaction, and known to everybody when it resolves. */
export class ClusterRows {
  readonly #options: ClusterRowsOptions;

  constructor(options: ClusterRowsOptions) {
    this.#options = options;
  }

  /** Errors of all: NOT_FOUND (it was deleted). */
  async begin(id: string, writing: BegunWrite): Promise<ClusterRecord> {
    await this.#update(id, { writing: JSON.stringify(writing) });
    return this.#written(id);
  }

  /** Nothing was changed. */
  async abandon(id: string): Promise<ClusterRecord> {
    await this.#update(id, { writing: null });
    return this.#written(id);
  }

  async change(id: string, { document, nodeIds, passwords }: NewDocument): Promise<ClusterRecord> {
    const { db, sealer } = this.#options;
    const names = new Set(document.clients.map(({ username }) => username));
    await db
      .$transaction(async (tx) => {
        const { revision } = await tx.cluster.update({
          where: { id },
          data: { document: JSON.stringify(document), revision: { increment: 1 }, writing: null },
        });
        await tx.clusterNode.updateMany({ where: { clusterId: id, nodeId: { in: [...nodeIds] } }, data: { revision } });
        for (const [username, password] of passwords) {
          const kept = { sealedPassword: sealer.seal(password, contextOf(id, username)), revision };
          await tx.clusterPassword.upsert({
            where: { clusterId_username: { clusterId: id, username } },
            create: { clusterId: id, username, ...kept },
            update: kept,
          });
        }
        const known = await tx.clusterPassword.findMany({ where: { clusterId: id }, select: { username: true } });
        const gone = known.flatMap(({ username }) => (names.has(username) ? [] : [username]));
        if (gone.length > 0) {
          await tx.clusterPassword.deleteMany({ where: { clusterId: id, username: { in: gone } } });
        }
      })
      .catch(goneMeansNotFound('cluster', id));
    return this.#written(id);
  }

  /** What a node has now. */
  async nodeHas(
    id: string,
    nodeId: number,
    has: { readonly revision?: number; readonly missingPasswords: readonly string[] },
  ): Promise<ClusterRecord> {
    const { revision, missingPasswords } = has;
    await this.#options.db.clusterNode.updateMany({
      where: { clusterId: id, nodeId },
      data: {
        ...(revision === undefined ? {} : { revision }),
        missingPasswords: JSON.stringify([...new Set(missingPasswords)].sort()),
      },
    });
    return this.#written(id);
  }

  /** Those that were kept, with the revision of the document that they were set with. */
  async passwords(id: string): Promise<ReadonlyMap<string, { readonly password: string; readonly revision: number }>> {
    const { db, sealer } = this.#options;
    const rows = await db.clusterPassword.findMany({ where: { clusterId: id } });
    return new Map(
      rows.map(({ username, sealedPassword, revision }) => [
        username,
        { password: sealer.open(sealedPassword, contextOf(id, username)), revision },
      ]),
    );
  }

  /** They are to be kept no more. */
  async forgetPasswords(ids: readonly string[]): Promise<void> {
    await this.#options.db.clusterPassword.deleteMany({ where: { clusterId: { in: [...ids] } } });
  }

  async #update(id: string, data: { readonly writing: string | null }): Promise<void> {
    await this.#options.db.cluster.update({ where: { id }, data }).catch(goneMeansNotFound('cluster', id));
  }

  async #written(id: string): Promise<ClusterRecord> {
    const cluster = await this.#options.directory.written(id);
    if (cluster === null) throw notFound('cluster', id);
    return cluster;
  }
}

const contextOf = (clusterId: string, username: string) => `${clusterId}/clusterPassword/${username}`;

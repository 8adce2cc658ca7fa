import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { goneMeansNotFound } from '../../../platform/storage/prisma-errors.ts';
import type { Sealer } from '../../../platform/storage/sealed.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { BegunWrite, ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { PasswordEffects } from './write-effects.ts';

export interface ClusterRowsOptions {
  readonly db: Database;
  readonly directory: ClusterDirectory;
  readonly sealer: Sealer;
}

/** A change of the document that all nodes shall have. */
export interface NewDocument {
  readonly document: AccessDocument;
  /** The node that has it already. */
  readonly nodeId: number;
  readonly passwords: PasswordEffects;
  /** It may have something beside it. */
  readonly isInDoubt: boolean;
  /** Passwords are kept for the other nodes. */
  readonly keeps: boolean;
}

/** What a node has. */
export type NodeHas = Partial<Pick<ClusterNodeRecord, 'revision' | 'missingPasswords'>>;

/** Of a node that may have anything: its own document is none that the cluster ever had. */
const IN_DOUBT = -1;

/**
 * What is stored of clusters that this service keeps. Each write is one transaction, and known to everybody when it resolves.
 *
 * A node lists each account whose password it may not have from the moment when that changes elsewhere until it has it, so that nothing
 * is forgotten with the process that was at it. Errors of all: NOT_FOUND (the cluster was deleted).
 */
export class ClusterRows {
  readonly #options: ClusterRowsOptions;

  constructor(options: ClusterRowsOptions) {
    this.#options = options;
  }

  async begin(id: string, writing: BegunWrite): Promise<ClusterRecord> {
    await this.#update(id, { writing: JSON.stringify(writing) });
    return this.#written(id);
  }

  /** Nothing was changed. */
  async abandon(id: string): Promise<ClusterRecord> {
    await this.#update(id, { writing: null });
    return this.#written(id);
  }

  /** What became of a write is not known: its node is to be brought back to the document. */
  async takeBack({ id, nodes, writing }: ClusterRecord): Promise<ClusterRecord> {
    const node = nodes.find(({ nodeId }) => nodeId === writing?.nodeId);
    await this.#options.db
      .$transaction(async (tx) => {
        await tx.cluster.update({ where: { id }, data: { writing: null } });
        if (node === undefined || writing === null) return;
        const lacking = JSON.stringify(sorted([...node.missingPasswords, ...writing.usernames]));
        await tx.clusterNode.updateMany({
          where: { clusterId: id, nodeId: node.nodeId },
          data: { revision: IN_DOUBT, missingPasswords: lacking },
        });
      })
      .catch(goneMeansNotFound('cluster', id));
    return this.#written(id);
  }

  /** `cluster` as it was before. Errors: IN_USE (another process took its turn, thinking that this one is gone). */
  async change(
    cluster: ClusterRecord,
    { document, nodeId, passwords, isInDoubt, keeps }: NewDocument,
  ): Promise<ClusterRecord> {
    const { db, sealer } = this.#options;
    const { id } = cluster;
    const revision = cluster.revision + 1;
    const exists = new Set(document.clients.map(({ username }) => username));
    await db
      .$transaction(async (tx) => {
        const { count } = await tx.cluster.updateMany({
          where: { id, revision: cluster.revision },
          data: { document: JSON.stringify(document), revision, writing: null },
        });
        if (count === 0) throw takenOver(cluster);
        for (const node of cluster.nodes) {
          const isFirst = node.nodeId === nodeId;
          const lacking = lackingOf(node, isFirst, passwords).filter((username) => exists.has(username));
          await tx.clusterNode.updateMany({
            where: { clusterId: id, nodeId: node.nodeId },
            data: {
              ...(isFirst ? { revision: isInDoubt ? IN_DOUBT : revision } : {}),
              missingPasswords: JSON.stringify(sorted(lacking)),
            },
          });
        }
        const known = await tx.clusterPassword.findMany({ where: { clusterId: id }, select: { username: true } });
        const outdated = known.filter(({ username }) => passwords.set.has(username) || !exists.has(username));
        if (outdated.length > 0) {
          const usernames = outdated.map(({ username }) => username);
          await tx.clusterPassword.deleteMany({ where: { clusterId: id, username: { in: usernames } } });
        }
        const data = [...passwords.set].flatMap(([username, password]) => {
          if (!exists.has(username) || (password !== null && !keeps)) return [];
          const sealedPassword = password && sealer.seal(password, clusterPasswordContext(id, username));
          return [{ clusterId: id, username, sealedPassword }];
        });
        if (data.length > 0) await tx.clusterPassword.createMany({ data });
      })
      .catch(goneMeansNotFound('cluster', id));
    return this.#written(id);
  }

  /** Only what is given changes. */
  async nodeHas(id: string, nodeId: number, { revision, missingPasswords }: NodeHas): Promise<ClusterRecord> {
    await this.#options.db.clusterNode.updateMany({
      where: { clusterId: id, nodeId },
      data: {
        ...(revision === undefined ? {} : { revision }),
        ...(missingPasswords === undefined ? {} : { missingPasswords: JSON.stringify(sorted(missingPasswords)) }),
      },
    });
    return this.#written(id);
  }

  /** What is known of them, by account; null: it has none. */
  async passwords(id: string): Promise<ReadonlyMap<string, string | null>> {
    const { db, sealer } = this.#options;
    const rows = await db.clusterPassword.findMany({ where: { clusterId: id } });
    return new Map(
      rows.map(({ username, sealedPassword }) => [
        username,
        sealedPassword && sealer.open(sealedPassword, clusterPasswordContext(id, username)),
      ]),
    );
  }

  /** Those of the accounts whose password is known. */
  async known(id: string, usernames: readonly string[]): Promise<ReadonlySet<string>> {
    if (usernames.length === 0) return new Set();
    const where = { clusterId: id, username: { in: [...usernames] } };
    const rows = await this.#options.db.clusterPassword.findMany({ where, select: { username: true } });
    return new Set(rows.map(({ username }) => username));
  }

  /** They are to be kept no more. */
  async forgetPasswords(ids: readonly string[]): Promise<void> {
    const where = { clusterId: { in: [...ids] }, sealedPassword: { not: null } };
    await this.#options.db.clusterPassword.deleteMany({ where });
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

/** Others lack what was set on the first one; that one lacks what may have been. */
function lackingOf(
  { missingPasswords }: ClusterNodeRecord,
  isFirst: boolean,
  { set, doubtful }: PasswordEffects,
): string[] {
  if (!isFirst) return [...missingPasswords, ...set.keys()];
  return [...missingPasswords.filter((username) => !set.has(username)), ...doubtful];
}

const sorted = (usernames: readonly string[]): string[] => [...new Set(usernames)].sort();

const takenOver = ({ name }: ClusterRecord) =>
  new ServiceError(
    'IN_USE',
    `Another process took over "${name}" meanwhile, and takes back what was written: try again`,
  );

export const clusterPasswordContext = (clusterId: string, username: string) =>
  `${clusterId}/clusterPassword/${username}`;

import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import type { BegunWrite, ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { PasswordEffects } from './write-effects.ts';

interface SyncStoreOptions {
  readonly db: Database;
  readonly cache: ClusterCache;
  readonly sealer: Sealer;
}

interface NewDocument {
  readonly document: AccessDocument;
  readonly nodeId: number;
  readonly passwords: PasswordEffects;
  /** Whether the node may have applied more than `document` says. */
  readonly isInDoubt: boolean;
  readonly storesPasswords: boolean;
}

type NodeChange = Partial<Pick<ClusterNodeRecord, 'revision' | 'missingPasswords'>>;

/** Revision of a node in an unknown state. No document has this revision. */
const IN_DOUBT = -1;

/**
 * Stores the documents and passwords of synchronized clusters, each write in one transaction. Other processes are
 * notified before a method resolves. A node lists each account whose password it may lack from the change on another
 * node until it has the password, so that a failed process loses no change. Errors of all methods: NOT_FOUND (the
 * cluster).
 */
export class SyncStore {
  readonly #options: SyncStoreOptions;

  constructor(options: SyncStoreOptions) {
    this.#options = options;
  }

  beginWrite(id: string, writing: BegunWrite): Promise<void> {
    return this.#setWriting(id, JSON.stringify(writing));
  }

  cancelWrite(id: string): Promise<void> {
    return this.#setWriting(id, null);
  }

  /** Ends a write with an unknown result: its node must be synchronized again. */
  async markInDoubt({ id, nodes, writing }: ClusterRecord): Promise<void> {
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
      .catch(missingAsNotFound('cluster', id));
    await this.#written(id);
  }

  /** Stores a new document. `cluster` is the record before it. Errors: IN_USE (another process took over the lease). */
  async putDocument(
    cluster: ClusterRecord,
    { document, nodeId, passwords, isInDoubt, storesPasswords }: NewDocument,
  ): Promise<void> {
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
        if (count === 0) throw takenOverError(cluster);
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
        const usernames = outdated.map(({ username }) => username);
        await tx.clusterPassword.deleteMany({ where: { clusterId: id, username: { in: usernames } } });
        const data = [...passwords.set].flatMap(([username, password]) => {
          if (!exists.has(username) || (password !== null && !storesPasswords)) return [];
          const sealedPassword = password && sealer.seal(password, clusterPasswordContext(id, username));
          return [{ clusterId: id, username, sealedPassword }];
        });
        if (data.length > 0) await tx.clusterPassword.createMany({ data });
      })
      .catch(missingAsNotFound('cluster', id));
    await this.#written(id);
  }

  async updateNode(id: string, nodeId: number, { revision, missingPasswords }: NodeChange): Promise<void> {
    await this.#options.db.clusterNode.updateMany({
      where: { clusterId: id, nodeId },
      data: {
        ...(revision === undefined ? {} : { revision }),
        ...(missingPasswords === undefined ? {} : { missingPasswords: JSON.stringify(sorted(missingPasswords)) }),
      },
    });
    await this.#written(id);
  }

  async storedPasswords(id: string): Promise<ReadonlyMap<string, string | null>> {
    const { db, sealer } = this.#options;
    const rows = await db.clusterPassword.findMany({ where: { clusterId: id } });
    return new Map(
      rows.map(({ username, sealedPassword }) => [
        username,
        sealedPassword && sealer.open(sealedPassword, clusterPasswordContext(id, username)),
      ]),
    );
  }

  async withStoredPassword(id: string, usernames: readonly string[]): Promise<ReadonlySet<string>> {
    if (usernames.length === 0) return new Set();
    const where = { clusterId: id, username: { in: [...usernames] } };
    const rows = await this.#options.db.clusterPassword.findMany({ where, select: { username: true } });
    return new Set(rows.map(({ username }) => username));
  }

  async deletePasswords(ids: readonly string[]): Promise<void> {
    const where = { clusterId: { in: [...ids] }, sealedPassword: { not: null } };
    await this.#options.db.clusterPassword.deleteMany({ where });
  }

  async #setWriting(id: string, writing: string | null): Promise<void> {
    const { db } = this.#options;
    await db.cluster.update({ where: { id }, data: { writing } }).catch(missingAsNotFound('cluster', id));
    await this.#written(id);
  }

  async #written(id: string): Promise<void> {
    if ((await this.#options.cache.refreshAndAnnounce(id)) === null) throw notFound('cluster', id);
  }
}

/** The first node may lack unconfirmed passwords, the others all passwords that were set. */
function lackingOf(
  { missingPasswords }: ClusterNodeRecord,
  isFirst: boolean,
  { set, unconfirmed }: PasswordEffects,
): string[] {
  if (!isFirst) return [...missingPasswords, ...set.keys()];
  return [...missingPasswords.filter((username) => !set.has(username)), ...unconfirmed];
}

const sorted = (usernames: readonly string[]): string[] => [...new Set(usernames)].sort();

const takenOverError = ({ name }: ClusterRecord) =>
  new ServiceError(
    'IN_USE',
    `Another process took over "${name}" in the meantime, and rolls back this change: try again`,
  );

export const clusterPasswordContext = (clusterId: string, username: string) =>
  `${clusterId}/clusterPassword/${username}`;

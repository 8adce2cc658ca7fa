import type { Logger } from 'pino';
import type { Cluster, ClusterNode, Prisma } from '../../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { Directory } from '../../platform/storage/directory.ts';
import type { AccessDocument } from '../access-control/documents/access-document.ts';
import type { BegunWrite, ClusterKeeper, ClusterNodeRecord, ClusterRecord } from './model/cluster.ts';

const CLUSTER_PARTS = {
  nodes: { orderBy: { nodeId: 'asc' } },
  broker: { select: { projectId: true } },
} as const satisfies Prisma.ClusterInclude;

type ClusterRow = Cluster & {
  readonly nodes: readonly ClusterNode[];
  readonly broker: { readonly projectId: string };
};

const CHANGED = 'cluster';

export class ClusterCache extends Directory<ClusterRow, ClusterRecord> {
  readonly #db: Database;
  readonly #changes: Changes;
  #lastRead = 0;
  #runningReads = 0;
  /** Number of the newest read whose row is cached, by cluster. Cleared when no read is running. */
  readonly #newest = new Map<string, number>();
  #byNode: ReadonlyMap<string, ClusterRecord> | null = null;

  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    const documents = new KnownDocuments();
    super({
      changes,
      log,
      // The cluster's id is that of its broker entry, and both are deleted together.
      kinds: [CHANGED, 'broker'],
      rowsOf: (id) => db.cluster.findMany({ where: id === ANYTHING ? {} : { id }, include: CLUSTER_PARTS }),
      toEntry: (row) => toRecord(row, documents.of(row)),
      isSame: ({ document, ...one }, { document: otherDocument, ...other }) =>
        document === otherDocument && JSON.stringify(one) === JSON.stringify(other),
    });
    this.#db = db;
    this.#changes = changes;
    // Registered first, so that later listeners see the new state.
    this.onChange((after, before) => {
      this.#byNode = null;
      if (after === null && before !== null) documents.forget(before.id);
    });
  }

  ofProject(projectId: string): readonly ClusterRecord[] {
    return this.all().filter((cluster) => cluster.projectId === projectId);
  }

  /** The cluster that a broker is a node of. `null` if it is in no cluster. */
  ofNode(brokerId: string): ClusterRecord | null {
    this.#byNode ??= new Map(
      this.all().flatMap((cluster) => cluster.nodes.map((node) => [node.brokerId, cluster] as const)),
    );
    return this.#byNode.get(brokerId) ?? null;
  }

  async refresh(id: string): Promise<ClusterRecord | null> {
    this.#lastRead += 1;
    this.#runningReads += 1;
    const read = this.#lastRead;
    try {
      const row = await this.#db.cluster.findUnique({ where: { id }, include: CLUSTER_PARTS });
      // A read that started later has already returned a newer row.
      if (read < (this.#newest.get(id) ?? 0)) return this.get(id);
      this.#newest.set(id, read);
      if (row === null) this.drop(id);
      return row && this.put(row);
    } finally {
      this.#runningReads -= 1;
      if (this.#runningReads === 0) this.#newest.clear();
    }
  }

  /** Refreshes the cluster after a write, and notifies the other processes. `null` if it does not exist. */
  async refreshAndAnnounce(id: string): Promise<ClusterRecord | null> {
    const record = await this.refresh(id);
    await this.#changes.announce(CHANGED, id);
    return record;
  }
}

/** A document is large and rarely changes, so the same text returns the same object. */
class KnownDocuments {
  readonly #known = new Map<string, { readonly text: string; readonly document: AccessDocument }>();

  of({ id, document: text }: ClusterRow): AccessDocument | null {
    if (text === null) return null;
    let known = this.#known.get(id);
    if (known?.text !== text) {
      known = { text, document: JSON.parse(text) as AccessDocument };
      this.#known.set(id, known);
    }
    return known.document;
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}

function toRecord(
  { nodes, broker, document: _, writing, keeper, createdAt, ...row }: ClusterRow,
  document: AccessDocument | null,
): ClusterRecord {
  const { id, name, mode, revision, autoRepair } = row;
  return {
    id,
    projectId: broker.projectId,
    name,
    mode,
    // Only this service writes the column.
    keeper: keeper as ClusterKeeper,
    document,
    revision,
    writing: writing === null ? null : (JSON.parse(writing) as BegunWrite),
    autoRepair,
    createdAt: createdAt.toISOString(),
    nodes: nodes.map(nodeOf),
  };
}

const nodeOf = ({ missingPasswords, ...node }: ClusterNode): ClusterNodeRecord => ({
  ...node,
  missingPasswords: JSON.parse(missingPasswords) as string[],
});

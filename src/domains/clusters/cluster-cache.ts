import type { Cluster, ClusterNode, Prisma } from '../../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes/changes.ts';
import { type CacheParts, RowCache } from '../../platform/storage/changes/row-cache.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { AccessDocument } from '../access-control/documents/access-document.ts';
import type { BegunWrite, ClusterKeeper, ClusterRecord } from './model/cluster.ts';

const CLUSTER_PARTS = {
  nodes: { orderBy: { nodeId: 'asc' } },
  broker: { select: { projectId: true } },
} as const satisfies Prisma.ClusterInclude;

type ClusterRow = Cluster & {
  readonly nodes: readonly ClusterNode[];
  readonly broker: { readonly projectId: string };
};

const CHANGED = 'cluster';

export class ClusterCache extends RowCache<ClusterRow, ClusterRecord> {
  readonly ofProject = this.listsBy(({ projectId }) => projectId);
  readonly #db: Database;
  readonly #changes: Changes;
  #lastRead = 0;
  #runningReads = 0;
  /** Number of the newest read whose row is cached, by cluster. Cleared when no read is running. */
  readonly #newest = new Map<string, number>();
  #byNode: ReadonlyMap<string, ClusterRecord> | null = null;

  constructor({ db, changes, log }: CacheParts) {
    const documents = new Map<string, KnownDocument>();
    super({
      changes,
      log,
      // The cluster's id is that of its broker entry, and both are deleted together.
      kinds: [CHANGED, 'broker'],
      rowsOf: (id) => db.cluster.findMany({ where: id === ANYTHING ? {} : { id }, include: CLUSTER_PARTS }),
      toEntry: (row) => toRecord(row, documentOf(row, documents)),
      isSame: ({ document, ...one }, { document: otherDocument, ...other }) =>
        document === otherDocument && JSON.stringify(one) === JSON.stringify(other),
    });
    this.#db = db;
    this.#changes = changes;
    // Registered first, so that later listeners see the new state.
    this.onChange((after, before) => {
      this.#byNode = null;
      if (after === null && before !== null) documents.delete(before.id);
    });
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

interface KnownDocument {
  readonly text: string;
  readonly document: AccessDocument;
}

/** A document is large and rarely changes, so the same text returns the same object. */
function documentOf({ id, document: text }: ClusterRow, documents: Map<string, KnownDocument>): AccessDocument | null {
  if (text === null) return null;
  let known = documents.get(id);
  if (known?.text !== text) {
    known = { text, document: JSON.parse(text) as AccessDocument };
    documents.set(id, known);
  }
  return known.document;
}

function toRecord(
  { nodes, broker, writing, keeper, ...row }: ClusterRow,
  document: AccessDocument | null,
): ClusterRecord {
  return {
    ...row,
    projectId: broker.projectId,
    // Only this service writes the column.
    keeper: keeper as ClusterKeeper,
    document,
    writing: writing === null ? null : (JSON.parse(writing) as BegunWrite),
    nodes: nodes.map(({ missingPasswords, ...node }) => ({
      ...node,
      missingPasswords: JSON.parse(missingPasswords) as string[],
    })),
  };
}

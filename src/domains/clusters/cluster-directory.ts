import type { Logger } from 'pino';
import type { Cluster, ClusterNode, Prisma } from '../../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { Directory } from '../../platform/storage/directory.ts';
import type { AccessDocument } from '../access-control/documents/access-document.ts';
import type { BegunWrite, ClusterKeeper, ClusterNodeRecord, ClusterRecord } from './model/cluster.ts';

/** What is read with each row. */
const CLUSTER_PARTS = {
  nodes: { orderBy: { nodeId: 'asc' } },
  broker: { select: { projectId: true } },
} as const satisfies Prisma.ClusterInclude;

export type ClusterRow = Cluster & {
  readonly nodes: readonly ClusterNode[];
  readonly broker: { readonly projectId: string };
};

const CHANGED = 'cluster';

/** Every cluster with its nodes. */
export class ClusterDirectory extends Directory<ClusterRow, ClusterRecord> {
  readonly #db: Database;
  readonly #changes: Changes;
  /** How often a row was read, how many of these are under way, and meanwhile the last one of each cluster that counts. */
  #readings = 0;
  #underWay = 0;
  readonly #newest = new Map<string, number>();
  /** By the id of a node's entry. */
  #byNode: ReadonlyMap<string, ClusterRecord> | null = null;

  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    const documents = new KnownDocuments();
    super({
      changes,
      log,
      // Its id is that of a broker entry, with which it goes.
      kinds: [CHANGED, 'broker'],
      rowsOf: (id) => db.cluster.findMany({ where: id === ANYTHING ? {} : { id }, include: CLUSTER_PARTS }),
      toEntry: (row) => toRecord(row, documents.of(row)),
      isSame: ({ document, ...one }, { document: otherDocument, ...other }) =>
        document === otherDocument && JSON.stringify(one) === JSON.stringify(other),
    });
    this.#db = db;
    this.#changes = changes;
    // Before anybody else is told.
    this.onChange((after, before) => {
      this.#byNode = null;
      if (after === null && before !== null) documents.forget(before.id);
    });
  }

  /** In order of creation. */
  ofProject(projectId: string): readonly ClusterRecord[] {
    return this.all().filter((cluster) => cluster.projectId === projectId);
  }

  /** The cluster that a broker is a node of. */
  ofNode(brokerId: string): ClusterRecord | null {
    this.#byNode ??= new Map(
      this.all().flatMap((cluster) => cluster.nodes.map((node) => [node.brokerId, cluster] as const)),
    );
    return this.#byNode.get(brokerId) ?? null;
  }

  /** As it is stored now. */
  async refresh(id: string): Promise<ClusterRecord | null> {
    this.#readings += 1;
    this.#underWay += 1;
    const reading = this.#readings;
    try {
      const row = await this.#db.cluster.findUnique({ where: { id }, include: CLUSTER_PARTS });
      // One that began later has told something newer.
      if (reading < (this.#newest.get(id) ?? 0)) return this.get(id);
      this.#newest.set(id, reading);
      if (row === null) this.drop(id);
      return row && this.put(row);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#newest.clear();
    }
  }

  /** What was just written, for this process and for others; null: it is gone. */
  async written(id: string): Promise<ClusterRecord | null> {
    const record = await this.refresh(id);
    await this.#changes.announce(CHANGED, id);
    return record;
  }
}

/** A document is long, and mostly the one that was read before: what is the same text is the same object. */
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
    // Written by this service alone.
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

import type { Problem } from '../../../generated/sqlite/client.ts';
import { ANYTHING } from '../../../platform/storage/changes/changes.ts';
import { type CacheParts, RowCache } from '../../../platform/storage/changes/row-cache.ts';
import { type ProblemKind, type ProblemSeverity, problemKinds } from '../model/problem-kinds.ts';

/** A stored problem, open or closed. Immutable. */
export type ProblemRecord = Readonly<
  Omit<Problem, 'kind' | 'severity'> & { kind: ProblemKind; severity: ProblemSeverity }
>;

/** The kind of announced changes. */
export const PROBLEM_CHANGED = 'problem';

/** The owner of problems: a broker, a project, or `null` for the service. */
type Owner = string | null;

/**
 * Cache of all problems. The number of closed ones is bounded (`ProblemRetention`), that of open ones by `MAX_OPEN`. A
 * problem takes about a kilobyte.
 */
export class ProblemCache extends RowCache<Problem, ProblemRecord> {
  /** Open problems by owner, until one of them changes. */
  readonly #openOf = new Map<Owner, readonly ProblemRecord[]>();
  readonly #openByKey = new Map<string, ProblemRecord>();
  /** Ids of the last closed problem by key. */
  readonly #closedByKey = new Map<string, string>();

  constructor({ db, changes, log }: CacheParts) {
    const known = { kind: { in: [...problemKinds] } };
    super({
      changes,
      log,
      kinds: [PROBLEM_CHANGED],
      rowsOf: (id) => db.problem.findMany({ where: id === ANYTHING ? known : { id, ...known } }),
      toEntry: (row) => row as ProblemRecord,
    });
    // Registered first, so that later listeners see the new state.
    this.onChange((after, before) => this.#index(after, before));
  }

  openWithKey(key: string): ProblemRecord | null {
    return this.#openByKey.get(key) ?? null;
  }

  lastClosedWithKey(key: string): ProblemRecord | null {
    const id = this.#closedByKey.get(key);
    return id === undefined ? null : this.get(id);
  }

  get openCount(): number {
    return this.#openByKey.size;
  }

  allOpen(): Iterable<ProblemRecord> {
    return this.#openByKey.values();
  }

  /** Oldest first. Returns the same array until one of them changes. */
  openOfProject(projectId: string | null): readonly ProblemRecord[] {
    return this.#open(projectId, () => [...this.#openByKey.values()].filter((one) => one.projectId === projectId));
  }

  /** As `openOfProject`. */
  openOfBroker({ id, projectId }: { readonly id: string; readonly projectId: string }): readonly ProblemRecord[] {
    return this.#open(id, () => this.openOfProject(projectId).filter(({ brokerId }) => brokerId === id));
  }

  /** The owner was deleted, and the database has deleted its problems. */
  ownerRemoved(owner: { readonly brokerId?: string; readonly projectId?: string }): void {
    const isOwned = ({ brokerId, projectId }: ProblemRecord) =>
      owner.brokerId === undefined ? projectId === owner.projectId : brokerId === owner.brokerId;
    for (const { id } of this.all().filter(isOwned)) this.drop(id);
  }

  #open(owner: Owner, read: () => ProblemRecord[]): readonly ProblemRecord[] {
    const known = this.#openOf.get(owner);
    if (known !== undefined) return known;
    const open = read().sort((one, other) => (one.id < other.id ? -1 : 1));
    this.#openOf.set(owner, open);
    return open;
  }

  #index(after: ProblemRecord | null, before: ProblemRecord | null): void {
    const { key, projectId, brokerId, id } = (after ?? before) as ProblemRecord;
    this.#openOf.delete(projectId);
    if (brokerId !== null) this.#openOf.delete(brokerId);
    if (after?.openKey != null) this.#openByKey.set(key, after);
    else if (this.#openByKey.get(key)?.id === id) this.#openByKey.delete(key);
    if (after !== null && after.openKey === null) this.#closedByKey.set(key, id);
    else if (this.#closedByKey.get(key) === id) this.#closedByKey.delete(key);
  }
}

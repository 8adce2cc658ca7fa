import type { Problem } from '../../../generated/sqlite/client.ts';
import { ANYTHING } from '../../../platform/storage/changes/changes.ts';
import { type CacheParts, RowCache } from '../../../platform/storage/changes/row-cache.ts';
import { type ProblemKind, type ProblemSeverity, problemKinds } from '../model/problem-kinds.ts';

/** A stored problem, open or closed. Immutable. */
export type ProblemRecord = Readonly<
  Omit<Problem, 'kind' | 'severity'> & { kind: ProblemKind; severity: ProblemSeverity }
>;

/** The kind of announced changes. The id is ANYTHING, ids with spaces between, or SEEN with a time (`seenAt`). */
export const PROBLEM_CHANGED = 'problem';
const SEEN = 'seen ';

/** The owner of problems: a broker, a project, or `null` for the service. */
type Owner = string | null;

/**
 * Cache of all problems. The number of closed ones is bounded (`ProblemRetention`), that of open ones by `MAX_OPEN`. A
 * problem takes about a kilobyte.
 */
export class ProblemCache extends RowCache<Problem, ProblemRecord> {
  /** All problems by the id of their project, and by that of their broker. `null`: those of the service. */
  readonly #byOwner = new Map<Owner, Map<string, ProblemRecord>>();
  /** Open problems by owner, until one of them changes. */
  readonly #openOf = new Map<Owner, readonly ProblemRecord[]>();
  readonly #openByKey = new Map<string, ProblemRecord>();
  /** Ids of the last closed problem by key. */
  readonly #closedByKey = new Map<string, string>();
  /** What this process announced last, and needs not read. */
  #ownSeen = '';

  constructor({ db, changes, log }: CacheParts) {
    const kind = { in: [...problemKinds] };
    super({
      changes,
      log,
      kinds: [PROBLEM_CHANGED],
      rowsOf: async (id) => (id === this.#ownSeen ? [] : db.problem.findMany({ where: { kind, ...changedBy(id) } })),
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

  /** The id that announces which problems were seen at a time. This process has noted them already. */
  seenAt(at: Date): string {
    this.#ownSeen = `${SEEN}${at.toISOString()}`;
    return this.#ownSeen;
  }

  get openCount(): number {
    return this.#openByKey.size;
  }

  allOpen(): Iterable<ProblemRecord> {
    return this.#openByKey.values();
  }

  /** Open and closed ones of a project or a broker. */
  ofOwner(id: string): Iterable<ProblemRecord> {
    return this.#byOwner.get(id)?.values() ?? [];
  }

  /** Oldest first. Returns the same array until one of them changes. */
  openOfProject(projectId: string | null): readonly ProblemRecord[] {
    return this.#open(projectId);
  }

  /** As `openOfProject`. */
  openOfBroker({ id }: { readonly id: string }): readonly ProblemRecord[] {
    return this.#open(id);
  }

  /** The project was deleted, and the database has deleted its problems. */
  projectRemoved(projectId: string): void {
    for (const { id } of [...this.ofOwner(projectId)]) this.drop(id);
  }

  #open(owner: Owner): readonly ProblemRecord[] {
    const known = this.#openOf.get(owner);
    if (known !== undefined) return known;
    const all = [...(this.#byOwner.get(owner)?.values() ?? [])];
    const open = all.filter(({ openKey }) => openKey !== null).sort((one, other) => (one.id < other.id ? -1 : 1));
    this.#openOf.set(owner, open);
    return open;
  }

  #index(after: ProblemRecord | null, before: ProblemRecord | null): void {
    const { key, projectId, brokerId, id } = (after ?? before) as ProblemRecord;
    for (const owner of brokerId === null ? [projectId] : [projectId, brokerId]) this.#own(owner, id, after);
    if (after?.openKey != null) this.#openByKey.set(key, after);
    else if (this.#openByKey.get(key)?.id === id) this.#openByKey.delete(key);
    if (after !== null && after.openKey === null) this.#closedByKey.set(key, id);
    else if (this.#closedByKey.get(key) === id) this.#closedByKey.delete(key);
  }

  #own(owner: Owner, id: string, after: ProblemRecord | null): void {
    this.#openOf.delete(owner);
    const owned = this.#byOwner.get(owner) ?? new Map<string, ProblemRecord>();
    if (after === null) owned.delete(id);
    else owned.set(id, after);
    if (owned.size === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, owned);
  }
}

function changedBy(id: string) {
  if (id === ANYTHING) return {};
  return id.startsWith(SEEN) ? { lastSeenAt: new Date(id.slice(SEEN.length)) } : { id: { in: id.split(' ') } };
}

import { setImmediate as nextIteration } from 'node:timers/promises';
import { swapClusterId } from '../../gateway/cluster-id.ts';
import { parseNamedNodeId } from '../../gateway/named-node-id.ts';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import { hasRole, seesBroker, type Viewer } from '../../platform/auth/viewer.ts';
import type { TargetReaderParts } from './audit-target.ts';

type NamesParts = Pick<TargetReaderParts, 'db' | 'projects' | 'brokers' | 'certificates'>;

type Target = Pick<AuditEntry, 'targetKind' | 'targetId' | 'before' | 'after'>;

/** Finds the current names of the targets of entries. The rows of a page are read with one query of each kind. */
export class AuditTargetNames {
  readonly #parts: NamesParts;
  readonly #users: BatchedRows<{ readonly id: string; readonly email: string }>;
  readonly #tokens: BatchedRows<{ readonly id: string; readonly name: string; readonly projectId: string }>;
  readonly #organizations: BatchedRows<{ readonly id: string; readonly name: string }>;

  constructor(parts: NamesParts) {
    const { db } = parts;
    this.#parts = parts;
    this.#users = new BatchedRows((ids) =>
      db.user.findMany({ where: { id: { in: ids } }, select: { id: true, email: true } }),
    );
    this.#tokens = new BatchedRows((ids) =>
      db.projectToken.findMany({ where: { id: { in: ids } }, select: { id: true, name: true, projectId: true } }),
    );
    this.#organizations = new BatchedRows((ids) =>
      db.organization.findMany({ where: { id: { in: ids } }, select: { id: true, name: true } }),
    );
  }

  /** For a deleted target the name in the entry. `null` without a name, or if the caller may not see the target. */
  async nameOf({ targetKind, targetId, before, after }: Target, viewer: Viewer): Promise<string | null> {
    const named = targetId === null ? null : parseNamedNodeId(targetId);
    if (named !== null) return named.name;
    const found = targetId === null ? null : await this.#find(targetKind, targetId, viewer);
    if (found !== null) return found.name;
    const field = targetKind === 'user' ? 'email' : 'name';
    return textIn(before, field) ?? textIn(after, field);
  }

  /** `null` if the target does not exist. */
  async #find(kind: string | null, id: string, viewer: Viewer): Promise<{ readonly name: string | null } | null> {
    const { projects, brokers, certificates } = this.#parts;
    switch (kind) {
      case 'project':
        return seen(projects.get(id), (project) => hasRole(viewer, project.id, 'VIEWER'));
      case 'broker':
        return seen(brokers.get(id), (broker) => seesBroker(viewer, broker));
      case 'cluster':
        return seen(brokers.get(swapClusterId(id)), (entry) => seesBroker(viewer, entry));
      case 'certificate':
        return seen(certificates.get(id), ({ projectId }) => hasRole(viewer, projectId, 'VIEWER'));
      case 'token':
        return seen(await this.#tokens.get(id), ({ projectId }) => hasRole(viewer, projectId, 'ADMIN'));
      case 'organization':
        return seen(await this.#organizations.get(id), () => viewer.isRootAdmin);
      case 'user': {
        const user = await this.#users.get(id);
        return user && seen({ name: user.email }, () => viewer.isRootAdmin || viewer.id === id);
      }
      default:
        return null;
    }
  }
}

const seen = <Row extends { readonly name: string }>(row: Row | null, isSeen: (row: Row) => boolean) =>
  row && { name: isSeen(row) ? row.name : null };

function textIn(json: string | null, field: string): string | null {
  const value = json === null ? null : (JSON.parse(json) as Readonly<Record<string, unknown>>)[field];
  return typeof value === 'string' ? value : null;
}

/** Reads rows by id: all that are requested in one iteration of the event loop, such as a page, with one query. */
class BatchedRows<Row extends { readonly id: string }> {
  readonly #find: (ids: string[]) => PromiseLike<readonly Row[]>;
  #requested = new Set<string>();
  #reading: Promise<ReadonlyMap<string, Row>> | null = null;

  constructor(find: (ids: string[]) => PromiseLike<readonly Row[]>) {
    this.#find = find;
  }

  async get(id: string): Promise<Row | null> {
    this.#requested.add(id);
    this.#reading ??= this.#read();
    return (await this.#reading).get(id) ?? null;
  }

  async #read(): Promise<ReadonlyMap<string, Row>> {
    await nextIteration();
    const ids = [...this.#requested];
    this.#requested = new Set();
    this.#reading = null;
    return new Map((await this.#find(ids)).map((row) => [row.id, row]));
  }
}

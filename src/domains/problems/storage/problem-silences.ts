import type { Logger } from 'pino';
import type { ProblemSilence } from '../../../generated/sqlite/client.ts';
import { invalid, notFound } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { ANYTHING, type Changes } from '../../../platform/storage/changes/changes.ts';
import { RowCache } from '../../../platform/storage/changes/row-cache.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { isForeignKeyViolation } from '../../../platform/storage/prisma-errors.ts';
import { MAX_DESCRIPTION, textIssues } from '../../../platform/text/texts.ts';
import { type ProblemFilter, type ProblemMatcher, problemMatcher } from '../model/problem-filter.ts';
import type { ProblemRecord } from './problem-cache.ts';

/** A time in which problems of a project are silent. */
export interface SilenceRecord extends Readonly<Omit<ProblemSilence, 'filter'>> {
  readonly filter: ProblemFilter | null;
  readonly matches: ProblemMatcher;
}

export interface NewSilence {
  readonly projectId: string;
  readonly until: Date;
  readonly reason: string;
  readonly filter?: ProblemFilter | null | undefined;
}

interface ProblemSilencesOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
}

const CHANGED = 'problem-silence';
/** Of a project. */
const MAX_SILENCES = 100;
const MAX_FILTER = 20_000;
const MAX_MS = 366 * 86_400_000;

/** The silences of all projects. Those that are over count no longer, and are deleted before another one is added. */
export class ProblemSilences {
  readonly #options: ProblemSilencesOptions;
  readonly #cache: RowCache<ProblemSilence, SilenceRecord>;
  /** In the order of creation: each problem of a list looks at those of its project. */
  readonly #byProject = new Map<string, readonly SilenceRecord[]>();

  constructor(options: ProblemSilencesOptions) {
    this.#options = options;
    const { db, changes, log } = options;
    this.#cache = new RowCache({
      changes,
      log,
      kinds: [CHANGED],
      rowsOf: (id) => db.problemSilence.findMany({ where: id === ANYTHING ? {} : { id } }),
      toEntry: toRecord,
    });
    this.#cache.onChange((after, before) => this.#index(after, before));
  }

  load(): Promise<void> {
    return this.#cache.load();
  }

  get(id: string): SilenceRecord | null {
    return this.#cache.get(id);
  }

  /** Those that are not over, in the order of creation. */
  ofProject(projectId: string, now = Date.now()): readonly SilenceRecord[] {
    return (this.#byProject.get(projectId) ?? []).filter(({ until }) => until.getTime() > now);
  }

  isSilenced(problem: ProblemRecord, now = Date.now()): boolean {
    const silences = problem.projectId === null ? undefined : this.#byProject.get(problem.projectId);
    return silences?.some(({ until, matches }) => until.getTime() > now && matches(problem)) ?? false;
  }

  /** The ids of those that are not over. It changes when one begins or ends. */
  activeIds(now = Date.now()): string {
    return this.#cache
      .all()
      .filter(({ until }) => until.getTime() > now)
      .map(({ id }) => id)
      .join(' ');
  }

  /** Errors: INVALID, NOT_FOUND (the project). */
  async add({ projectId, until, reason, filter }: NewSilence, by: string): Promise<SilenceRecord> {
    const now = Date.now();
    const text = filter == null ? null : JSON.stringify(filter);
    const issues = [...textIssues('input.reason', reason.trim(), { min: 1, max: MAX_DESCRIPTION })];
    if (until.getTime() <= now || until.getTime() > now + MAX_MS) {
      issues.push({ path: 'input.until', reason: 'must be in the future, and within a year' });
    }
    if ((text?.length ?? 0) > MAX_FILTER) issues.push({ path: 'input.filter', reason: 'has too many ids' });
    if (this.ofProject(projectId).length >= MAX_SILENCES) {
      issues.push({
        path: 'input.projectId',
        reason: `the project has ${MAX_SILENCES} silences already: end one of them`,
      });
    }
    if (issues.length > 0) throw invalid(issues);
    await this.#deleteEnded(projectId, now);
    const { db, changes } = this.#options;
    const data = { id: newId('problemSilence'), projectId, until, reason: reason.trim(), filter: text, createdBy: by };
    const row = await db.problemSilence.create({ data }).catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? notFound('project', projectId) : error;
    });
    const record = this.#cache.put(row);
    await changes.announce(CHANGED, record.id);
    return record;
  }

  /** Errors: NOT_FOUND. */
  async end(id: string): Promise<SilenceRecord> {
    const { db, changes } = this.#options;
    const known = this.#cache.get(id);
    const { count } = await db.problemSilence.deleteMany({ where: { id } });
    if (known === null || count === 0) throw notFound('problemSilence', id);
    this.#cache.drop(id);
    await changes.announce(CHANGED, id);
    return known;
  }

  projectRemoved(projectId: string): void {
    for (const { id } of this.#byProject.get(projectId) ?? []) this.#cache.drop(id);
  }

  close(): Promise<void> {
    return this.#cache.close();
  }

  #index(after: SilenceRecord | null, before: SilenceRecord | null): void {
    const { id, projectId } = (after ?? before) as SilenceRecord;
    const others = (this.#byProject.get(projectId) ?? []).filter((one) => one.id !== id);
    const all = after === null ? others : [...others, after].sort((one, other) => (one.id < other.id ? -1 : 1));
    if (all.length === 0) this.#byProject.delete(projectId);
    else this.#byProject.set(projectId, all);
  }

  /** Otherwise a project could have any number of short silences. */
  async #deleteEnded(projectId: string, now: number): Promise<void> {
    const ended = (this.#byProject.get(projectId) ?? []).filter(({ until }) => until.getTime() <= now);
    if (ended.length === 0) return;
    await this.#options.db.problemSilence.deleteMany({ where: { id: { in: ended.map(({ id }) => id) } } });
    for (const { id } of ended) {
      this.#cache.drop(id);
      await this.#options.changes.announce(CHANGED, id);
    }
  }
}

function toRecord({ filter: text, ...row }: ProblemSilence): SilenceRecord {
  const filter = text === null ? null : (JSON.parse(text) as ProblemFilter);
  return { ...row, filter, matches: problemMatcher(filter ?? {}) };
}

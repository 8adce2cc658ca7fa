import type { Logger } from 'pino';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectRole, requireProjectRole, requireSignedIn, type Viewer } from '../../platform/auth/viewer.ts';
import { invalid, notFound, OutOfSight } from '../../platform/errors.ts';
import type { ListConnection } from '../../platform/paging.ts';
import { runInSlices, runSync } from '../../platform/scheduling/sliced-task.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { MAX_DESCRIPTION, textIssues } from '../../platform/text/texts.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import { type ProblemEvent, ProblemFeeds } from './problem-feeds.ts';
import { countProblems, type ProblemCounts, type ProblemListQuery, problemPage, seesProblem } from './problem-list.ts';
import { ProblemCache, type ProblemRecord } from './storage/problem-cache.ts';
import { type ProblemChange, ProblemChanges } from './storage/problem-changes.ts';
import { type NewSilence, ProblemSilences, type SilenceRecord } from './storage/problem-silences.ts';
import { ProblemStore } from './storage/problem-store.ts';

interface ProblemServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly projects: ProjectCache;
  readonly log: Logger;
}

/** How often the ends of silences are looked for. */
const SILENCES_MS = 2_000;

/**
 * What is wrong, and was: the same in all processes. `ProblemWatch` finds it.
 *
 * To handle each opening and closing at least once and in order, over restarts and in whichever process: store the
 * `sequence` of the last handled change; read `changesSince` it after `onChange`, and again whenever the listener is
 * called. `lastSequence` is where a new reader starts.
 */
export class ProblemService {
  readonly cache: ProblemCache;
  readonly silences: ProblemSilences;
  readonly store: ProblemStore;
  readonly #changes: ProblemChanges;
  readonly #feeds: ProblemFeeds;
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;
  #activeSilences = '';

  constructor(options: ProblemServiceOptions) {
    this.cache = new ProblemCache(options);
    this.silences = new ProblemSilences(options);
    this.store = new ProblemStore({ ...options, cache: this.cache });
    this.#changes = new ProblemChanges(options);
    this.#feeds = new ProblemFeeds(this.cache);
    this.#stop = options.projects.onRemove(({ id }) => this.silences.projectRemoved(id));
    this.#timer = setInterval(() => this.#checkSilences(), SILENCES_MS).unref();
  }

  /** Errors: those of the database. */
  async load(): Promise<void> {
    await Promise.all([this.cache.load(), this.silences.load()]);
    this.#activeSilences = this.silences.activeIds();
  }

  readonly isSilenced = (problem: ProblemRecord): boolean => this.silences.isSilenced(problem);

  /** Problems that the viewer may see. Errors: INVALID, UNAUTHORIZED. */
  async page(query: ProblemListQuery, viewer: Viewer | null): Promise<ListConnection<ProblemRecord>> {
    const isOpen = query.filter?.isOpen === undefined || query.filter.isOpen === true;
    return this.#pageOf(isOpen ? this.cache.allOpen() : this.cache.all(), query, viewer);
  }

  /** As `page`, of a project. */
  async ofProject(id: string, query: ProblemListQuery, viewer: Viewer | null): Promise<ListConnection<ProblemRecord>> {
    const filter = { ...query.filter, projectId: id };
    return this.#pageOf(this.cache.ofOwner(id), { ...query, filter }, viewer);
  }

  /** As `page`, of a broker. */
  async ofBroker(
    { id }: BrokerRecord,
    query: ProblemListQuery,
    viewer: Viewer | null,
  ): Promise<ListConnection<ProblemRecord>> {
    const filter = { ...query.filter, brokerIds: [id] };
    return this.#pageOf(this.cache.ofOwner(id), { ...query, filter }, viewer);
  }

  /** Of all problems that the viewer may see. */
  async counts(viewer: Viewer | null): Promise<ProblemCounts> {
    return this.#count(visibleIn(this.cache.allOpen(), requireSignedIn(viewer)));
  }

  async countsOfProject(projectId: string, viewer: Viewer | null): Promise<ProblemCounts> {
    return this.#count(visibleIn(this.cache.openOfProject(projectId), requireSignedIn(viewer)));
  }

  countsOfBroker(broker: BrokerRecord): ProblemCounts {
    return runSync(countProblems(this.cache.openOfBroker(broker), this.isSilenced));
  }

  /** Errors: NOT_FOUND, UNAUTHORIZED; NOT_ALLOWED without the role. */
  visible(id: string, viewer: Viewer | null, role: ProjectRole = 'VIEWER'): ProblemRecord {
    const known = requireSignedIn(viewer);
    const problem = this.cache.get(id);
    if (problem === null) throw notFound('problem', id);
    if (!seesProblem(known, problem)) throw new OutOfSight('problem', id);
    if (problem.projectId !== null) requireProjectRole(known, problem.projectId, role);
    return problem;
  }

  /** Notes that a person knows of an open problem. Errors: as `visible` for an EDITOR; INVALID if it is closed. */
  async acknowledge(id: string, note: string | null, viewer: Viewer | null): Promise<ProblemRecord> {
    const problem = this.visible(id, viewer, 'EDITOR');
    const issues = textIssues('input.note', note, { max: MAX_DESCRIPTION });
    if (problem.openKey === null) issues.push({ path: 'input.problemId', reason: 'the problem is closed' });
    if (issues.length > 0) throw invalid(issues);
    return this.#update(id, {
      acknowledgedAt: new Date(),
      acknowledgedBy: requireSignedIn(viewer).name,
      acknowledgedNote: note,
    });
  }

  /** Errors: as `visible` for an EDITOR. */
  async unacknowledge(id: string, viewer: Viewer | null): Promise<ProblemRecord> {
    this.visible(id, viewer, 'EDITOR');
    return this.#update(id, { acknowledgedAt: null, acknowledgedBy: null, acknowledgedNote: null });
  }

  /** The caller checks the rights. Errors: INVALID, NOT_FOUND (the project). */
  async silence(silence: NewSilence, viewer: Viewer | null): Promise<SilenceRecord> {
    const added = await this.silences.add(silence, requireSignedIn(viewer).name);
    this.#checkSilences();
    return added;
  }

  /** The caller checks the rights. Errors: NOT_FOUND. */
  async endSilence(id: string): Promise<SilenceRecord> {
    const ended = await this.silences.end(id);
    this.#checkSilences();
    return ended;
  }

  /** `projectId` is `null` for problems of the service itself. The caller checks the rights. */
  watch(projectId: string | null, viewer: Viewer | null, options: SubscriberOptions): LiveSource<ProblemEvent> {
    return this.#feeds.watch(projectId, viewer?.brokers ?? null, options);
  }

  /** See `ProblemChanges.onChange`. */
  onChange(listener: () => void): () => void {
    return this.#changes.onChange(listener);
  }

  /** The openings and closings after a sequence, oldest first, at most 500. Errors: those of the database. */
  changesSince(sequence: number, limit?: number): Promise<ProblemChange[]> {
    return this.#changes.since(sequence, limit);
  }

  /** Errors: those of the database. */
  lastSequence(): Promise<number> {
    return this.#changes.last();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop();
    this.#feeds.close();
    await Promise.all([this.#changes.close(), this.cache.close(), this.silences.close()]);
  }

  #pageOf(problems: Iterable<ProblemRecord>, query: ProblemListQuery, viewer: Viewer | null) {
    return runInSlices(problemPage(visibleIn(problems, requireSignedIn(viewer)), query, this.isSilenced));
  }

  #count(problems: Iterable<ProblemRecord>): Promise<ProblemCounts> {
    return runInSlices(countProblems(problems, this.isSilenced));
  }

  async #update(id: string, data: Parameters<ProblemStore['update']>[1]): Promise<ProblemRecord> {
    const changed = await this.store.update(id, data);
    if (changed === null) throw notFound('problem', id);
    return changed;
  }

  #checkSilences(): void {
    const active = this.silences.activeIds();
    if (active === this.#activeSilences) return;
    this.#activeSilences = active;
    for (const projectId of new Set([...this.cache.allOpen()].map((one) => one.projectId))) {
      if (projectId !== null) this.#feeds.republish(projectId);
    }
  }
}

function* visibleIn(problems: Iterable<ProblemRecord>, viewer: Viewer): Generator<ProblemRecord> {
  for (const problem of problems) if (seesProblem(viewer, problem)) yield problem;
}

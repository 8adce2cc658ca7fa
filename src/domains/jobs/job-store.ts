import type { Logger } from 'pino';
import type { JobKind } from '../../generated/sqlite/client.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isForeignKeyViolation, isNotFound, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { isEnd, type Job, type JobReport, type ListedJob, type NewJob, toJob } from './job.ts';
import { RunningJob } from './running-job.ts';

interface JobStoreOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
}

interface ContinuedJob {
  /** As it was stored last. */
  readonly job: Job;
  readonly running: RunningJob;
}

/** The kind of announced changes; the ids are `<brokerId> <jobId>`. */
export const JOB_CHANGED = 'job';

/** Ended jobs of a broker. When one ends, older ones beyond this number are deleted. */
export const MAX_ENDED = 20;
const MAX_PROBLEM = 1_000;
const LISTED = { request: true, progress: true } as const;

/**
 * The jobs of all processes, a row for each. The process that runs a job has a lease: that of the broker, or one of the
 * job. A process that has lost it may not have noticed: its writes are of an earlier attempt, and change nothing.
 *
 * Errors of all methods: those of the database.
 */
export class JobStore {
  readonly #options: JobStoreOptions;

  constructor(options: JobStoreOptions) {
    this.#options = options;
  }

  /** Errors: IN_USE with the text `busy` if such a job runs, in whichever process; NOT_FOUND (the broker). */
  async begin({ kind, brokerId, subject, request }: NewJob, busy: string, id = newId('job')): Promise<RunningJob> {
    const runningKey = keyOf(kind, brokerId, subject);
    const text = JSON.stringify(request);
    const row = { id, kind, brokerId, subject, runningKey, request: text, startedAt: new Date() };
    try {
      await this.#options.db.job.create({ data: { ...row, state: 'RUNNING' } });
    } catch (error) {
      if (isUniqueViolation(error)) throw new ServiceError('IN_USE', busy);
      throw isForeignKeyViolation(error) ? notFound('broker', brokerId) : error;
    }
    await this.#announce(brokerId, id);
    return this.#running({ id, brokerId, attempt: 1, done: 0 });
  }

  /** Begins the next attempt. The caller must have the lease. `null` if the job has ended, or was deleted. */
  async continue(id: string): Promise<ContinuedJob | null> {
    try {
      const data = { attempt: { increment: 1 } };
      const job = toJob(await this.#options.db.job.update({ where: { id, endedAt: null }, data }));
      return { job, running: this.#running(job) };
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async find(id: string): Promise<ListedJob | null> {
    const row = await this.#options.db.job.findUnique({ where: { id }, omit: LISTED });
    return row && toJob(row);
  }

  /** The newest job of a kind. */
  async last(brokerId: string, kind: JobKind): Promise<Job | null> {
    const row = await this.#options.db.job.findFirst({ where: { brokerId, kind }, orderBy: { id: 'desc' } });
    return row && toJob(row);
  }

  /** `null` if the job was deleted. */
  async request(id: string): Promise<string | null> {
    const row = await this.#options.db.job.findUnique({ where: { id }, select: { request: true } });
    return row?.request ?? null;
  }

  /** Newest first. */
  async ofBroker(brokerId: string, take: number): Promise<ListedJob[]> {
    const rows = await this.#options.db.job.findMany({
      where: { brokerId },
      orderBy: { id: 'desc' },
      take,
      omit: LISTED,
    });
    return rows.map(toJob);
  }

  /** The jobs that have not ended, oldest first. */
  unfinished(kind: JobKind, brokerId?: string): Promise<Pick<Job, 'id' | 'subject'>[]> {
    const where = { kind, runningKey: { not: null }, ...(brokerId === undefined ? {} : { brokerId }) };
    return this.#options.db.job.findMany({ where, orderBy: { id: 'asc' }, select: { id: true, subject: true } });
  }

  /** Ends a job that no process runs, if there is one. The caller must have the lease. */
  async stop(kind: JobKind, brokerId: string, subject: string): Promise<void> {
    const runningKey = keyOf(kind, brokerId, subject);
    const row = await this.#options.db.job.findUnique({ where: { runningKey }, select: { id: true } });
    const continued = row && (await this.continue(row.id));
    if (continued === null) return;
    const { done, total, progress } = continued.job;
    const known = progress === null ? {} : (JSON.parse(progress) as object);
    continued.running.report({ state: 'STOPPED', done, total, progress: known, problem: null });
    await continued.running.close();
  }

  #running(job: Pick<Job, 'id' | 'brokerId' | 'attempt' | 'done'>): RunningJob {
    return new RunningJob({
      id: job.id,
      done: job.done,
      write: (report) => this.#write(job, report),
      discard: () => this.#discard(job),
      onFault: (error) => this.#options.log.warn({ err: error, jobId: job.id }, 'a job could not be written'),
    });
  }

  /** Returns whether the job is still that of the caller. */
  async #write({ id, brokerId, attempt }: Pick<Job, 'id' | 'brokerId' | 'attempt'>, report: JobReport) {
    const { progress, problem, ...columns } = report;
    const data = {
      ...columns,
      progress: JSON.stringify(progress),
      problem: problem === null ? null : problem.replaceAll('\0', '').slice(0, MAX_PROBLEM),
      ...(isEnd(report.state) ? { endedAt: new Date(), runningKey: null } : {}),
    };
    const { db } = this.#options;
    const { count } = await db.job.updateMany({ where: { id, attempt, runningKey: { not: null } }, data });
    if (count === 0) return false;
    await this.#announce(brokerId, id);
    if (isEnd(report.state)) await this.#deleteOld(brokerId);
    return true;
  }

  /** For a job that was refused before it began. */
  async #discard({ id, brokerId, attempt }: Pick<Job, 'id' | 'brokerId' | 'attempt'>): Promise<void> {
    await this.#options.db.job.deleteMany({ where: { id, attempt } });
    await this.#announce(brokerId, id);
  }

  async #deleteOld(brokerId: string): Promise<void> {
    const { job } = this.#options.db;
    const where = { brokerId, endedAt: { not: null } };
    const old = await job.findMany({ where, orderBy: { id: 'desc' }, skip: MAX_ENDED, select: { id: true } });
    if (old.length > 0) await job.deleteMany({ where: { id: { in: old.map(({ id }) => id) } } });
  }

  #announce(brokerId: string, id: string): Promise<void> {
    return this.#options.changes.announce(JOB_CHANGED, `${brokerId} ${id}`);
  }
}

const keyOf = (kind: JobKind, brokerId: string, subject: string): string => `${kind} ${brokerId} ${subject}`;

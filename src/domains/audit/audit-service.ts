import type { GraphQLInputType } from 'graphql';
import type { Logger } from 'pino';
import { swapClusterId } from '../../gateway/cluster-id.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { RefusedLogin } from '../../platform/auth/refused-login.ts';
import { ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/limits/network.ts';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import type { Engine } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { Leases } from '../../platform/storage/leases/leases.ts';
import { type ChainPosition, type ChainProblem, Marks, type UnchainedEntry } from './audit-chain.ts';
import { codeOf, entryOf, jsonOf, MAX_NAME, outcomeOf, recordedIn, refusedReadOf, resultOf } from './audit-entry.ts';
import { type AuditCaller, type AuditFacts, type AuditTarget, actorOf, NOBODY } from './audit-event.ts';
import { AuditJournal } from './audit-journal.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditBacklog } from './audit-metrics.ts';
import { AuditRetention } from './audit-retention.ts';
import type { AuditTailEvent } from './audit-tail.ts';
import { AuditTails } from './audit-tails.ts';
import {
  type AuditInput,
  changedValues,
  idInPayload,
  readTarget,
  type TargetReaderParts,
  targetOf,
  targetOfRead,
} from './audit-target.ts';
import { AuditTargetNames } from './audit-target-names.ts';
import { type AuditVerification, verifyChain } from './audit-verification.ts';
import { AuditWitness } from './audit-witness.ts';
import { PendingChanges } from './pending-changes.ts';
import { type CountedAttempts, type RefusedAttempt, RefusedAttempts } from './refused-attempts.ts';
import { MAX_BYTES, masked } from './secret-masking.ts';

const MAX_REFUSED_BYTES = 2_000;
/** Bytes of values that the entries of one caller may have in a minute. Further ones have none. */
const BYTES_PER_MINUTE = 500_000;
const OMITTED = { '…': 'omitted, because the caller caused many entries within a minute' };

interface AuditOptions extends TargetReaderParts {
  readonly engine: Engine;
  readonly leases: Leases;
  readonly sealer: Pick<Sealer, 'open' | 'sign' | 'verify'>;
  readonly dataDir: string;
  readonly retentionDays: number;
  readonly log: Logger;
}

export interface AuditedCall {
  readonly operation: string;
  readonly input: AuditInput;
  readonly inputType: GraphQLInputType | undefined;
  readonly caller: AuditCaller;
}

export interface AuditedRead {
  /** `auditEvents` for a root field, `Project.auditEvents` for a field of another type. */
  readonly operation: string;
  readonly input: AuditInput;
  readonly owner?: unknown;
}

/**
 * Each mutation has one entry, written before its response. If the process is killed, the next one writes it from the
 * journal with the result UNKNOWN, or another process on PostgreSQL from its row of pending changes. Responses of
 * refused reads do not wait for their entry: the delay would reveal whether an invisible object exists.
 */
export class AuditService {
  readonly #options: AuditOptions;
  readonly #marks: Marks;
  readonly #retention: AuditRetention;
  readonly #journal: AuditJournal;
  /** `null` on SQLite: no other process could record the changes of this one. */
  readonly #pending: PendingChanges | null;
  readonly #log: AuditLog;
  readonly #witness: AuditWitness;
  readonly #tails: AuditTails;
  readonly targetNames: AuditTargetNames;
  /** Of the values in entries, by caller. */
  readonly #bytes = new RateLimit({ perSecond: BYTES_PER_MINUTE / 60, burst: BYTES_PER_MINUTE });
  #lostEntries: ChainProblem | null = null;
  readonly #refusedAttempts = new RefusedAttempts((counted) => this.#recordCounted(counted));

  constructor(options: AuditOptions) {
    const { db, engine, leases, sealer, log, dataDir, retentionDays: days } = options;
    const endsPending = engine === 'postgresql';
    const marks = new Marks(sealer);
    this.#options = options;
    this.#marks = marks;
    this.#retention = new AuditRetention({ db, marks, days, record: (facts) => this.record(facts), log });
    this.#journal = new AuditJournal(dataDir, log);
    this.#witness = new AuditWitness(dataDir, marks, log);
    this.#tails = new AuditTails(db);
    this.targetNames = new AuditTargetNames(options);
    this.#log = new AuditLog({
      db,
      endsPending,
      marks,
      log,
      onHead: (position) => this.#witness.committed(position),
      // Unwritten entries stay in the journal for the next start.
      onSettled: (entries, written) => {
        if (written) this.#journal.end(entries.map(({ id }) => id));
      },
    });
    const append = (entries: readonly UnchainedEntry[]) => Promise.all(entries.map((entry) => this.#log.append(entry)));
    this.#pending = endsPending ? new PendingChanges({ db, leases, sealer, append, log }) : null;
  }

  async start(): Promise<void> {
    this.#lostEntries = await this.#witness.problem(this.#options.db);
    if (this.#lostEntries !== null) {
      const { sequence, reason } = this.#lostEntries;
      this.#options.log.error({ sequence }, `entries of the audit are missing: ${reason}`);
      await this.record({ operation: 'noticeLostAuditEvents', after: { sequence, reason }, result: 'DONE' });
    }
    await this.#recordPending();
    this.#pending?.start();
  }

  async #recordPending(): Promise<void> {
    const pending = this.#journal.pending();
    if (pending.length === 0) return;
    const { db, log } = this.#options;
    const where = { id: { in: pending.map(({ id }) => id) } };
    const written = await db.auditEntry.findMany({ where, select: { id: true } });
    const ids = new Set(written.map(({ id }) => id));
    this.#journal.end(ids);
    const missing = pending.filter(({ id }) => !ids.has(id));
    if (missing.length === 0) return;
    const text = 'the previous process ended during changes; they are recorded in the audit with the result UNKNOWN';
    log.warn({ count: missing.length }, text);
    await Promise.all(missing.map((entry) => this.#log.append(entry)));
  }

  async resign(): Promise<void> {
    const { db } = this.#options;
    for (const name of ['start', 'head'] as const) {
      const mark = await db.auditMark.findUnique({ where: { name } });
      const renewed = mark && this.#marks.renewed({ ...mark, name });
      // A mark that moved meanwhile has a new signature.
      if (renewed) await db.auditMark.updateMany({ where: { name, seal: mark.seal }, data: { seal: renewed.seal } });
    }
    this.#witness.resign();
  }

  get engine(): Engine {
    return this.#options.engine;
  }

  get backlog(): AuditBacklog {
    return this.#log;
  }

  startRetention(): void {
    this.#retention.start();
  }

  /** Errors: errors of the mutation; RATE_LIMITED while entries cannot be written. */
  async mutation<T>({ operation, input, inputType, caller }: AuditedCall, run: () => T | Promise<T>): Promise<T> {
    if (this.#log.isFull) {
      const text = 'Changes are refused because the audit cannot be written; try again later';
      throw new ServiceError('RATE_LIMITED', text, { info: { retryAfterSeconds: 5 } });
    }
    const entry = await this.#begun({ operation, input, inputType, caller });
    this.#journal.begin(entry);
    // Unknown callers cause no query. A log-in that is cut off gives its caller no session.
    const pending = caller.viewer === null || this.#log.isFailing ? null : this.#pending;
    await pending?.begin(entry);
    let payload: T;
    try {
      payload = await run();
    } catch (error) {
      const code = codeOf(error);
      // Only the id of an existing account is recorded: users type passwords into the name field by mistake.
      const targetId = error instanceof RefusedLogin ? error.userId : entry.targetId;
      await this.#end({ ...entry, targetId, result: resultOf(code, caller), code }, caller);
      throw error;
    }
    const done = await this.#done(entry, payload, caller);
    if (caller.viewer !== null) this.#bytes.charge(caller.viewer.credentialId, bytesOf(done) - bytesOf(entry));
    await this.#log.append(done);
    return payload;
  }

  /** Records a mutation that was refused before it reached the graph. Never rejects. */
  async refused(operation: string, input: AuditInput, caller: AuditCaller, error: unknown): Promise<void> {
    const code = codeOf(error);
    const entry = await this.#begun({ operation, input, inputType: undefined, caller });
    await this.#end({ ...entry, result: resultOf(code, caller), code }, caller);
  }

  /** Does not wait: the journal has the entry meanwhile. Never throws. */
  refusedRead({ operation, input, owner }: AuditedRead, caller: AuditCaller, error: unknown): void {
    const refused = refusedReadOf(error);
    if (refused === null) return;
    const { code, hidden } = refused;
    const { viewer, address } = caller;
    const target = hidden ?? targetOfRead(operation, input, owner);
    const attempt: RefusedAttempt = {
      ...originOf(caller),
      ...this.#scopeOf(target, input, null),
      operation,
      code,
      target,
      actor: actorOf(viewer),
    };
    const key = viewer === null ? networkOf(address) : viewer.credentialId;
    const subject = [attempt.via, operation, code, target?.kind, target?.id?.slice(0, MAX_NAME)].join(' ');
    if (!this.#refusedAttempts.isSingle(attempt, { key, subject })) return;
    const after = Object.keys(input).length > 0 ? masked(input, undefined, MAX_REFUSED_BYTES) : null;
    const entry = entryOf({ ...attempt, requestId: caller.requestId, after, result: 'REFUSED' });
    if (this.#log.isFull) this.#options.log.error({ audit: entry }, 'could not write an entry of the audit');
    else {
      this.#journal.begin(entry);
      void this.#log.append(entry);
    }
  }

  unknownCredential(caller: Pick<AuditCaller, 'address' | 'requestId' | 'via'>): void {
    const { address, via = 'GRAPHQL' } = caller;
    const operation = 'authenticate';
    const nothing = { target: null, projectId: null, brokerId: null };
    const attempt: RefusedAttempt = { ...nothing, operation, code: 'UNAUTHORIZED', actor: NOBODY, address, via };
    const key = `${operation} ${networkOf(address)}`;
    if (!this.#refusedAttempts.isSingle(attempt, { key, subject: operation })) return;
    void this.record({ ...attempt, requestId: caller.requestId, result: 'REFUSED' });
  }

  /** Records an event other than a mutation. Never rejects: if the queue is full, the event is only logged. */
  async record(facts: AuditFacts): Promise<void> {
    const { before, after } = facts;
    const entry = entryOf({ ...facts, before: before && masked(before), after: after && masked(after) });
    if (this.#log.isFull) this.#options.log.error({ audit: entry }, 'could not write an entry of the audit');
    else await this.#log.append(entry);
  }

  head(): Promise<ChainPosition> {
    return this.#log.head();
  }

  /** Errors: RATE_LIMITED. */
  watch(where: Prisma.AuditEntryWhereInput, options: SubscriberOptions): LiveSource<AuditTailEvent> {
    return this.#tails.watch(where, options);
  }

  /** `expected` is an earlier hash that must be in the chain. Includes problems found at the start. */
  async verify(expected?: string | null): Promise<AuditVerification> {
    const found = await verifyChain(this.#options.db, this.#marks, expected ?? null, this.#witness.position);
    if (this.#lostEntries === null) return found;
    const { problems, problemCount } = found;
    return { ...found, isIntact: false, problems: [this.#lostEntries, ...problems], problemCount: problemCount + 1 };
  }

  async close(): Promise<void> {
    this.#tails.close();
    await this.#retention.close();
    await this.#pending?.close();
    this.#refusedAttempts.close();
    await this.#log.close();
    await this.#witness.close();
    this.#journal.close();
  }

  async #row(target: AuditTarget, input: AuditInput): Promise<Readonly<Record<string, unknown>> | null> {
    try {
      return await readTarget(this.#options, target, input);
    } catch (error) {
      this.#options.log.warn({ err: error, kind: target.kind }, 'the audit could not read the target of a change');
      return null;
    }
  }

  /** Ids of the input are used only if the target does not determine them. */
  #scopeOf(target: AuditTarget | null, input: AuditInput, row: Readonly<Record<string, unknown>> | null) {
    const { projects, brokers, certificates } = this.#options;
    // For a cluster, not `input.brokerId`: administrators of that broker's project would see the entry.
    const ofCluster = target?.kind === 'cluster' && target.id !== null ? swapClusterId(target.id) : null;
    const brokerId = String((target?.kind === 'broker' ? target.id : ofCluster) ?? input.brokerId ?? '');
    const broker = brokers.get(brokerId);
    const certificate = target?.kind === 'certificate' ? certificates.get(target.id ?? '') : null;
    const given = row === null || target?.kind === 'project' ? input.projectId : null;
    const itself = target?.kind === 'project' ? target.id : null;
    const projectId = broker?.projectId ?? certificate?.projectId ?? row?.projectId ?? given ?? itself;
    const project = projects.get(String(projectId ?? ''));
    return { brokerId: broker?.id ?? null, projectId: project?.id ?? null };
  }

  async #begun({ operation, input, inputType, caller }: AuditedCall): Promise<UnchainedEntry> {
    const { viewer } = caller;
    const target = targetOf(operation, input) ?? (viewer?.kind === 'USER' ? { kind: 'user', id: viewer.id } : null);
    // Unknown callers cause no query.
    const row = viewer === null || target === null ? null : await this.#row(target, input);
    const known = target && { ...target, id: target.id ?? (typeof row?.id === 'string' ? row.id : null) };
    const maxBytes = viewer === null ? MAX_REFUSED_BYTES : MAX_BYTES;
    const hasRoom = viewer === null || this.#bytes.waitOf(viewer.credentialId) === 0;
    const entry = entryOf({
      operation,
      actor: actorOf(viewer),
      ...originOf(caller),
      ...this.#scopeOf(known, input, row),
      requestId: caller.requestId,
      target: known,
      before: row && (hasRoom ? masked(changedValues(operation, row, input)) : OMITTED),
      after: hasRoom ? masked(dryRunFirst(input), inputType, maxBytes) : OMITTED,
      result: 'UNKNOWN',
    });
    if (viewer !== null) this.#bytes.charge(viewer.credentialId, bytesOf(entry));
    return entry;
  }

  async #done(entry: UnchainedEntry, payload: unknown, { viewer }: AuditCaller): Promise<UnchainedEntry> {
    const outcome = outcomeOf(payload);
    // What the payload records counts as well.
    const { before, after } = entry.after === jsonOf(OMITTED) ? recordedIn(null) : recordedIn(payload);
    const done: UnchainedEntry = {
      ...entry,
      result: outcome?.isNothing ? 'FAILED' : 'DONE',
      code: outcome?.isNothing ? outcome.code : null,
      before: before === null ? entry.before : jsonOf(masked(before)),
      after: withAdded(entry.after, { ...(masked(after) as object), ...(outcome && { outcome: outcome.text }) }),
    };
    const userId = entry.actorKind === 'NOBODY' ? idInPayload('user', payload) : null;
    if (userId !== null) {
      // A sign-in: the caller is known now.
      const actorName = viewer?.id === userId ? viewer.name : await this.#emailOf(userId);
      return { ...done, actorKind: 'USER', actorId: userId, actorName, targetKind: 'user', targetId: userId };
    }
    const { targetKind: kind } = entry;
    if (kind === null || entry.targetId !== null) return done;
    const targetId = idInPayload(kind, payload);
    const created = { ...done, targetId };
    if (kind === 'project') return { ...created, projectId: targetId };
    if (kind === 'cluster') return { ...created, targetId: targetId && swapClusterId(targetId), brokerId: targetId };
    return kind === 'broker' ? { ...created, brokerId: targetId } : created;
  }

  async #emailOf(userId: string): Promise<string | null> {
    try {
      const user = await this.#options.db.user.findUnique({ where: { id: userId }, select: { email: true } });
      return user?.email ?? null;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the audit could not read the user of a sign-in');
      return null;
    }
  }

  async #end(entry: UnchainedEntry, caller: AuditCaller): Promise<void> {
    if (this.#isSingle(entry, caller)) await this.#log.append(entry);
    else {
      this.#journal.end([entry.id]);
      if (caller.viewer !== null) await this.#pending?.end(entry.id);
    }
  }

  /** Counts each operation separately: a caller must not hide password guesses among many other refused operations. */
  #isSingle(entry: UnchainedEntry, { viewer, address, via = 'GRAPHQL' }: AuditCaller): boolean {
    const { operation, projectId, brokerId, targetKind, targetId, code } = entry;
    const target = targetKind === null ? null : { kind: targetKind, id: targetId };
    const result = entry.result === 'FAILED' ? 'FAILED' : 'REFUSED';
    const origin = { address, via, target, projectId, brokerId };
    const attempt: RefusedAttempt = { operation, code: code ?? '', result, actor: actorOf(viewer), ...origin };
    const caller = viewer === null ? networkOf(address) : `${viewer.credentialId} ${result}`;
    return this.#refusedAttempts.isSingle(attempt, { key: `${operation} ${caller}`, subject: null });
  }

  #recordCounted({ attempt, count, seconds, operations }: CountedAttempts): void {
    const after = { count, seconds, ...(operations && { operations }) };
    void this.record({ ...attempt, after, result: attempt.result ?? 'REFUSED' });
  }
}

const bytesOf = ({ before, after }: UnchainedEntry): number => (before?.length ?? 0) + (after?.length ?? 0);

const originOf = ({ address, via = 'GRAPHQL' }: AuditCaller) => ({ address, via });

const withAdded = (after: string | null, added: object): string | null =>
  Object.keys(added).length === 0 ? after : JSON.stringify({ ...(JSON.parse(after ?? '{}') as object), ...added });

/** What follows may be cut, and an entry without it would look like a change. */
const dryRunFirst = (input: AuditInput): AuditInput => (input.dryRun === true ? { dryRun: true, ...input } : input);

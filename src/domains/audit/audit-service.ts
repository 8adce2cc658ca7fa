import type { GraphQLInputType } from 'graphql';
import type { Logger } from 'pino';
import { RefusedLogin } from '../../platform/auth/refused-login.ts';
import { ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/limits/network.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import { type BeforeParts, concerned, readTarget } from './audit-before.ts';
import { type ChainPlace, type ChainProblem, Marks, type UnchainedEntry } from './audit-chain.ts';
import { entryOf, MAX_NAME } from './audit-entry.ts';
import { type AuditCaller, type AuditFacts, type AuditTarget, actorOf, NOBODY } from './audit-event.ts';
import { AuditJournal } from './audit-journal.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditBacklog } from './audit-metrics.ts';
import { codeOf, outcomeOf, refusedReadOf, resultOf } from './audit-outcome.ts';
import { AuditRetention } from './audit-retention.ts';
import { type AuditInput, idInPayload, targetOf, targetOfRead } from './audit-target.ts';
import { type AuditVerification, verifyChain } from './audit-verification.ts';
import { AuditWitness } from './audit-witness.ts';
import { MAX_KEPT, masked } from './masked.ts';
import { type Attempt, type CountedAttempts, Refusals } from './refusals.ts';

/** Bytes that are kept of what nobody known sent, and of arguments of reads that were refused. */
const KEPT_OF_REFUSED = 2_000;

export interface AuditOptions extends BeforeParts {
  readonly sealer: Pick<Sealer, 'open' | 'sign' | 'verify'>;
  readonly dataDir: string;
  /** Entries that are older are removed; 0: none. */
  readonly retentionDays: number;
  readonly log: Logger;
}

/** A mutation that is about to run. */
export interface AuditedCall {
  readonly operation: string;
  readonly input: AuditInput;
  readonly inputType: GraphQLInputType | undefined;
  readonly caller: AuditCaller;
}

/** A field of the graph that was read, or what is no field of it. */
export interface AuditedRead {
  /** As `auditEvents`; of a field that is no root's with its type, as `Project.auditEvents`. */
  readonly operation: string;
  /** Its arguments. */
  readonly input: AuditInput;
  /** What it is a field of. */
  readonly owner?: unknown;
}

/**
 * Records who changed what, and what was refused. Each mutation leaves one entry, written after it and before its answer. What has begun
 * is noted in the data folder, so that also a process that is killed in the middle leaves the entry: with the result UNKNOWN, since
 * nobody knows how far it came.
 *
 * Reads leave one where they are refused, see Refusals. Their answer does not wait for it: how long it takes would tell whether there is
 * something that the caller does not see.
 */
export class AuditService {
  readonly #options: AuditOptions;
  readonly #marks: Marks;
  readonly #retention: AuditRetention;
  readonly #journal: AuditJournal;
  readonly #log: AuditLog;
  readonly #witness: AuditWitness;
  /** What was found at the start. */
  #setBack: ChainProblem | null = null;
  readonly #refusals = new Refusals((counted) => this.#tellCounted(counted));

  constructor(options: AuditOptions) {
    const { db, sealer, log, dataDir, retentionDays: days } = options;
    const marks = new Marks(sealer);
    this.#options = options;
    this.#marks = marks;
    this.#retention = new AuditRetention({ db, marks, days, record: (facts) => this.record(facts), log });
    this.#journal = new AuditJournal(dataDir, log);
    this.#witness = new AuditWitness(dataDir, marks, log);
    this.#log = new AuditLog({
      db,
      marks,
      log,
      onHead: (place) => this.#witness.saw(place),
      // What could not be written is left for the next start.
      onSettled: (entries, written) => {
        if (written) this.#journal.end(entries.map(({ id }) => id));
      },
    });
  }

  /**
   * Tells of a chain that was emptied or set back since this folder's last process, in the log and by an entry, behind which it goes on.
   * Then gives what that process left, if it was killed, the entries that they lack.
   */
  async start(): Promise<void> {
    this.#setBack = await this.#witness.problem(this.#options.db);
    if (this.#setBack !== null) {
      const { sequence, reason } = this.#setBack;
      this.#options.log.error({ sequence }, `the audit lacks entries: ${reason}`);
      await this.record({ operation: 'noticeLostAuditEvents', after: { sequence, reason }, result: 'DONE' });
    }
    await this.#endLeft();
  }

  async #endLeft(): Promise<void> {
    const left = this.#journal.left();
    if (left.length === 0) return;
    const { db, log } = this.#options;
    const written = await db.auditEntry.findMany({
      where: { id: { in: left.map(({ id }) => id) } },
      select: { id: true },
    });
    const ids = new Set(written.map(({ id }) => id));
    this.#journal.end(ids);
    const missing = left.filter(({ id }) => !ids.has(id));
    if (missing.length === 0) return;
    log.warn({ count: missing.length }, 'the service ended in the middle of changes; the audit names them');
    await Promise.all(missing.map((entry) => this.#log.append(entry)));
  }

  /** Signs the marks again with the current key of the sealer, where a previous one signed them. */
  async resign(): Promise<void> {
    const { db } = this.#options;
    for (const name of ['start', 'head'] as const) {
      const mark = await db.auditMark.findUnique({ where: { name } });
      const renewed = mark && this.#marks.renewed({ ...mark, name });
      // Moved meanwhile: whoever moved it signed it.
      if (renewed) await db.auditMark.updateMany({ where: { name, seal: mark.seal }, data: { seal: renewed.seal } });
    }
    this.#witness.resign();
  }

  get backlog(): AuditBacklog {
    const { waiting, failedWrites } = this.#log;
    return { waiting, failedWrites };
  }

  startRetention(): void {
    this.#retention.start();
  }

  /** Runs a mutation and records it. Errors: those of the mutation; RATE_LIMITED while entries cannot be written. */
  async mutation<T>({ operation, input, inputType, caller }: AuditedCall, run: () => T | Promise<T>): Promise<T> {
    if (this.#log.isFull) {
      const info = { retryAfterSeconds: 5 };
      throw new ServiceError('RATE_LIMITED', 'Changes cannot be recorded now, so none are made; try again later', {
        info,
      });
    }
    const entry = await this.#begun({ operation, input, inputType, caller });
    this.#journal.begin(entry);
    let payload: T;
    try {
      payload = await run();
    } catch (error) {
      const code = codeOf(error);
      // Of a name that nobody has nothing is kept, since people type passwords there.
      const targetId = error instanceof RefusedLogin ? error.userId : entry.targetId;
      await this.#end({ ...entry, targetId, result: resultOf(code, caller), code }, caller);
      throw error;
    }
    await this.#log.append(await this.#done(entry, payload));
    return payload;
  }

  /** A mutation that was refused before it came to the graph. Never rejects. */
  async refused(operation: string, input: AuditInput, caller: AuditCaller, error: unknown): Promise<void> {
    const code = codeOf(error);
    const entry = await this.#begun({ operation, input, inputType: undefined, caller });
    await this.#end({ ...entry, result: resultOf(code, caller), code }, caller);
  }

  /**
   * A read that failed: recorded if it was refused to whoever asked. At once; it is written soon, and noted until then as what has begun.
   * Never throws.
   */
  refusedRead({ operation, input, owner }: AuditedRead, caller: AuditCaller, error: unknown): void {
    const refused = refusedReadOf(error);
    if (refused === null) return;
    const { code, hidden } = refused;
    const { viewer, address } = caller;
    const target = hidden ?? targetOfRead(operation, input, owner);
    const attempt: Attempt = {
      ...placeOf(caller),
      ...this.#place(target, input, null),
      operation,
      code,
      target,
      actor: actorOf(viewer),
    };
    const key = viewer === null ? networkOf(address) : viewer.credentialId;
    const thing = [attempt.via, operation, code, target?.kind, target?.id?.slice(0, MAX_NAME)].join(' ');
    if (!this.#refusals.isSingle(attempt, { key, thing })) return;
    const after = Object.keys(input).length > 0 ? masked(input, undefined, KEPT_OF_REFUSED) : null;
    const entry = entryOf({ ...attempt, requestId: caller.requestId, after, result: 'REFUSED' });
    if (this.#log.isFull) this.#options.log.error({ audit: entry }, 'an audit entry could not be written');
    else {
      this.#journal.begin(entry);
      void this.#log.append(entry);
    }
  }

  /** A session or token that is unknown, expired or revoked. */
  unknownCredential(caller: Pick<AuditCaller, 'address' | 'requestId' | 'via'>): void {
    const { address, via = 'GRAPHQL' } = caller;
    const operation = 'authenticate';
    const nothing = { target: null, projectId: null, brokerId: null };
    const attempt: Attempt = { ...nothing, operation, code: 'UNAUTHORIZED', actor: NOBODY, address, via };
    const key = `${operation} ${networkOf(address)}`;
    if (!this.#refusals.isSingle(attempt, { key, thing: operation })) return;
    void this.record({ ...attempt, requestId: caller.requestId, result: 'REFUSED' });
  }

  /** What is no mutation. Resolves when it is written. Never rejects; while nothing can be written it is only logged. */
  async record(facts: AuditFacts): Promise<void> {
    const { before, after } = facts;
    const entry = entryOf({ ...facts, before: before && masked(before), after: after && masked(after) });
    if (this.#log.isFull) this.#options.log.error({ audit: entry }, 'an audit entry could not be written');
    else await this.#log.append(entry);
  }

  /** Where the chain ends now. */
  head(): Promise<ChainPlace> {
    return this.#log.head();
  }

  /** Looks through all entries. `expected`: a hash that was told earlier and must be there. What was found at the start is told, too. */
  async verify(expected?: string | null): Promise<AuditVerification> {
    const found = await verifyChain(this.#options.db, this.#marks, expected ?? null, this.#witness.place);
    if (this.#setBack === null) return found;
    const { problems, problemCount } = found;
    return { ...found, isIntact: false, problems: [this.#setBack, ...problems], problemCount: problemCount + 1 };
  }

  async close(): Promise<void> {
    await this.#retention.close();
    this.#refusals.close();
    await this.#log.close();
    await this.#witness.close();
    this.#journal.close();
  }

  async #row(target: AuditTarget, input: AuditInput): Promise<Readonly<Record<string, unknown>> | null> {
    try {
      return await readTarget(this.#options, target, input);
    } catch (error) {
      this.#options.log.warn({ err: error, kind: target.kind }, 'the audit could not read what a change is made to');
      return null;
    }
  }

  /** The project and the broker that something belongs to, as far as it is known here. What callers say of that is not believed. */
  #place(target: AuditTarget | null, input: AuditInput, row: Readonly<Record<string, unknown>> | null) {
    const { projects, brokers, certificates } = this.#options;
    const isBroker = target?.kind === 'broker' || target?.kind === 'cluster';
    // A cluster is where its own entry is: the broker named beside it may be of another project, whose administrators would read of it.
    const brokerId = String((isBroker ? target.id : null) ?? input.brokerId ?? '');
    const broker = brokers.get(brokerId);
    const certificate = target?.kind === 'certificate' ? certificates.get(target.id ?? '') : null;
    const said = row === null || target?.kind === 'project' ? input.projectId : null;
    const itself = target?.kind === 'project' ? target.id : null;
    const named = broker?.projectId ?? certificate?.projectId ?? row?.projectId ?? said ?? itself;
    const project = projects.get(String(named ?? ''));
    return { brokerId: broker?.id ?? null, projectId: project?.id ?? null };
  }

  /** What a mutation is recorded as that is about to run. */
  async #begun({ operation, input, inputType, caller }: AuditedCall): Promise<UnchainedEntry> {
    const { viewer } = caller;
    const target = targetOf(operation, input) ?? (viewer?.kind === 'USER' ? { kind: 'user', id: viewer.id } : null);
    // Whoever is not known makes no work.
    const row = viewer === null || target === null ? null : await this.#row(target, input);
    const known = target && { ...target, id: target.id ?? (typeof row?.id === 'string' ? row.id : null) };
    return entryOf({
      operation,
      actor: actorOf(viewer),
      ...placeOf(caller),
      ...this.#place(known, input, row),
      requestId: caller.requestId,
      target: known,
      before: row && masked(concerned(operation, row, input)),
      after: masked(input, inputType, viewer === null ? KEPT_OF_REFUSED : MAX_KEPT),
      result: 'UNKNOWN',
    });
  }

  async #done(entry: UnchainedEntry, payload: unknown): Promise<UnchainedEntry> {
    const outcome = outcomeOf(payload);
    const done: UnchainedEntry = {
      ...entry,
      result: outcome?.isNothing ? 'FAILED' : 'DONE',
      code: outcome?.isNothing ? outcome.code : null,
      after: outcome === null ? entry.after : withOutcome(entry.after, outcome.text),
    };
    const userId = entry.actorKind === 'NOBODY' ? idInPayload('user', payload) : null;
    if (userId !== null) {
      // Whoever signed in is known from then on.
      const actorName = await this.#emailOf(userId);
      return { ...done, actorKind: 'USER', actorId: userId, actorName, targetKind: 'user', targetId: userId };
    }
    const { targetKind: kind } = entry;
    if (kind === null || entry.targetId !== null) return done;
    const targetId = idInPayload(kind, payload);
    const made = { ...done, targetId };
    if (kind === 'project') return { ...made, projectId: targetId };
    return kind === 'broker' || kind === 'cluster' ? { ...made, brokerId: targetId } : made;
  }

  async #emailOf(userId: string): Promise<string | null> {
    try {
      const user = await this.#options.db.user.findUnique({ where: { id: userId }, select: { email: true } });
      return user?.email ?? null;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the audit could not read who signed in');
      return null;
    }
  }

  async #end(entry: UnchainedEntry, caller: AuditCaller): Promise<void> {
    if (this.#isSingle(entry, caller)) await this.#log.append(entry);
    else this.#journal.end([entry.id]);
  }

  /** Counts each mutation by itself: a caller that is refused many others must not hide guesses at passwords among them. */
  #isSingle(entry: UnchainedEntry, { viewer, address, via = 'GRAPHQL' }: AuditCaller): boolean {
    const { operation, projectId, brokerId, targetKind, targetId, code } = entry;
    const target = targetKind === null ? null : { kind: targetKind, id: targetId };
    const result = entry.result === 'FAILED' ? 'FAILED' : 'REFUSED';
    const place = { address, via, target, projectId, brokerId };
    const attempt: Attempt = { operation, code: code ?? '', result, actor: actorOf(viewer), ...place };
    const who = viewer === null ? networkOf(address) : `${viewer.credentialId} ${result}`;
    return this.#refusals.isSingle(attempt, { key: `${operation} ${who}`, thing: null });
  }

  #tellCounted({ attempt, count, seconds, operations }: CountedAttempts): void {
    const after = { count, seconds, ...(operations && { operations }) };
    void this.record({ ...attempt, after, result: attempt.result ?? 'REFUSED' });
  }
}

const placeOf = ({ address, via = 'GRAPHQL' }: AuditCaller) => ({ address, via });

const withOutcome = (after: string | null, outcome: string): string =>
  JSON.stringify({ ...(JSON.parse(after ?? '{}') as object), outcome });

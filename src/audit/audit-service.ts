import type { GraphQLInputType } from 'graphql';
import type { Logger } from 'pino';
import { Bursts } from '../auth/bursts.ts';
import { networkOf } from '../auth/network.ts';
import { RefusedLogin } from '../auth/refused-login.ts';
import type { Viewer } from '../auth/viewer.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Sealer } from '../storage/sealed.ts';
import { type BeforeParts, concerned, readTarget } from './audit-before.ts';
import { type ChainPlace, Marks, type UnchainedEntry } from './audit-chain.ts';
import {
  type AuditCaller,
  type AuditFacts,
  type AuditTarget,
  type AuditWay,
  actorOf,
  NOBODY,
  SERVICE_ACTOR,
} from './audit-event.ts';
import { AuditJournal } from './audit-journal.ts';
import { AuditLog } from './audit-log.ts';
import { codeOf, outcomeOf, resultOf } from './audit-outcome.ts';
import { AuditRetention } from './audit-retention.ts';
import { type AuditInput, idInPayload, targetOf } from './audit-target.ts';
import { type AuditVerification, verifyChain } from './audit-verification.ts';
import { MAX_KEPT, masked } from './masked.ts';

/** What nobody known is refused leaves an entry each, so many times in a row from one network; the rest is told by its number. */
const SINGLE_REFUSALS = 20;
/** Bytes of what nobody known sent that are kept. */
const KEPT_OF_NOBODY = 2_000;
/** Of what callers choose; longer ones are cut. */
const MAX_NAME = 300;

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

interface Refusal {
  readonly operation: string;
  readonly address: string;
  readonly via: AuditWay;
}

/**
 * Records who changed what, and what was refused. Each mutation leaves one entry, written after it and before its answer. What has begun
 * is noted in the data folder, so that also a process that is killed in the middle leaves the entry: with the result UNKNOWN, since
 * nobody knows how far it came.
 */
export class AuditService {
  readonly #options: AuditOptions;
  readonly #marks: Marks;
  readonly #retention: AuditRetention;
  readonly #journal: AuditJournal;
  readonly #log: AuditLog;
  readonly #refusals: Bursts<Refusal>;
  readonly #credentials: Bursts<Refusal>;

  constructor(options: AuditOptions) {
    const { db, sealer, log, dataDir, retentionDays: days } = options;
    const marks = new Marks(sealer);
    this.#options = options;
    this.#marks = marks;
    this.#retention = new AuditRetention({ db, marks, days, record: (facts) => this.record(facts), log });
    this.#journal = new AuditJournal(dataDir, log);
    this.#log = new AuditLog({
      db,
      marks,
      log,
      // What could not be written is left for the next start.
      onSettled: (entries, written) => {
        if (written) this.#journal.end(entries.map(({ id }) => id));
      },
    });
    this.#refusals = new Bursts({
      from: SINGLE_REFUSALS + 1,
      onBegin: () => undefined,
      onEnd: (subject, count, seconds) => this.#burst(subject, count - SINGLE_REFUSALS, seconds),
    });
    this.#credentials = new Bursts({
      from: 1,
      onBegin: (subject) => this.#burst(subject, 1, 0),
      onEnd: (subject, count, seconds) => {
        if (count > 1) this.#burst(subject, count - 1, seconds);
      },
    });
  }

  /** Gives what a process left that was killed the entries that they lack. */
  async start(): Promise<void> {
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
    const { viewer } = caller;
    const target = targetOf(operation, input) ?? (viewer?.kind === 'USER' ? { kind: 'user', id: viewer.id } : null);
    // Whoever is not known makes no work.
    const row = viewer === null || target === null ? null : await this.#row(target, input);
    const known = target && { ...target, id: target.id ?? (typeof row?.id === 'string' ? row.id : null) };
    const after = masked(input, inputType, keptOf(viewer));
    const entry = this.#entry({
      operation,
      actor: actorOf(viewer),
      ...placeOf(caller),
      ...this.#place(known, input, row),
      target: known,
      before: row && masked(concerned(operation, row, input)),
      after,
      result: 'UNKNOWN',
    });
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
    await this.#log.append(this.#done(entry, payload, { target: known, after, operation }));
    return payload;
  }

  /** What was refused before it came to the graph. Never rejects. */
  async refused(operation: string, input: AuditInput, caller: AuditCaller, error: unknown): Promise<void> {
    const code = codeOf(error);
    const target = targetOf(operation, input);
    const entry = this.#entry({
      operation,
      actor: actorOf(caller.viewer),
      ...placeOf(caller),
      ...this.#place(target, input, null),
      target,
      after: masked(input, undefined, keptOf(caller.viewer)),
      result: resultOf(code, caller),
      code,
    });
    await this.#end(entry, caller);
  }

  /** A session or token that is unknown, expired or revoked: told as a burst begins, and how many came when it is over. */
  unknownCredential({ address, via = 'GRAPHQL' }: Pick<AuditCaller, 'address' | 'via'>): void {
    this.#credentials.add(networkOf(address), { operation: 'authenticate', address, via });
  }

  /** What is no mutation. Resolves when it is written. Never rejects; while nothing can be written it is only logged. */
  async record(facts: AuditFacts): Promise<void> {
    const { before, after } = facts;
    const entry = this.#entry({ ...facts, before: before && masked(before), after: after && masked(after) });
    if (this.#log.isFull) this.#options.log.error({ audit: entry }, 'an audit entry could not be written');
    else await this.#log.append(entry);
  }

  /** Where the chain ends now. */
  head(): Promise<ChainPlace> {
    return this.#log.head();
  }

  /** Looks through all entries. `expected`: a hash that was told earlier and must be there. */
  verify(expected?: string | null): Promise<AuditVerification> {
    return verifyChain(this.#options.db, this.#marks, expected ?? null);
  }

  async close(): Promise<void> {
    await this.#retention.close();
    this.#refusals.close();
    this.#credentials.close();
    await this.#log.close();
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
    // A cluster is where its own entry is: the broker named beside it may be of another project, whose administrators would read of it.
    const brokerId = String((target?.kind === 'cluster' ? target.id : null) ?? input.brokerId ?? '');
    const broker = brokers.get(brokerId);
    const certificate = target?.kind === 'certificate' ? certificates.get(target.id ?? '') : null;
    const said = row === null || target?.kind === 'project' ? input.projectId : null;
    const named = broker?.projectId ?? certificate?.projectId ?? row?.projectId ?? said;
    const project = projects.get(String(named ?? ''));
    return { brokerId: broker?.id ?? null, projectId: project?.id ?? null };
  }

  #done(
    entry: UnchainedEntry,
    payload: unknown,
    { target, after, operation }: { target: AuditTarget | null; after: unknown; operation: string },
  ): UnchainedEntry {
    const outcome = outcomeOf(payload);
    const done: UnchainedEntry = {
      ...entry,
      result: outcome?.isNothing ? 'FAILED' : 'DONE',
      code: outcome?.isNothing ? outcome.code : null,
      after: outcome === null ? entry.after : JSON.stringify({ ...(after as object), outcome: outcome.text }),
    };
    const userId = entry.actorKind === 'NOBODY' ? idInPayload('user', payload) : null;
    if (userId !== null) {
      // Whoever signed in is known from then on.
      return { ...done, actorKind: 'USER', actorId: userId, targetKind: 'user', targetId: userId };
    }
    if (target === null || target.id !== null) return done;
    const targetId = idInPayload(target.kind, payload);
    const made = { ...done, targetId };
    if (operation === 'createProject') return { ...made, projectId: targetId };
    return target.kind === 'broker' || target.kind === 'cluster' ? { ...made, brokerId: targetId } : made;
  }

  async #end(entry: UnchainedEntry, { viewer, address, via = 'GRAPHQL' }: AuditCaller): Promise<void> {
    const subject = { operation: entry.operation, address, via };
    if (viewer === null && this.#refusals.add(networkOf(address), subject)) this.#journal.end([entry.id]);
    else await this.#log.append(entry);
  }

  #burst({ operation, address, via }: Refusal, count: number, seconds: number): void {
    const after = count === 1 ? undefined : { count, seconds };
    void this.record({ operation, actor: NOBODY, address, via, after, result: 'REFUSED', code: 'UNAUTHORIZED' });
  }

  #entry({ operation, actor = SERVICE_ACTOR, target = null, ...facts }: AuditFacts): UnchainedEntry {
    return {
      id: newId('auditEvent'),
      at: new Date(),
      actorKind: actor.kind,
      actorId: actor.id,
      actorName: plain(actor.name),
      actorIssuer: plain(actor.issuer),
      address: plain(facts.address) ?? '',
      requestId: plain(facts.requestId) ?? '',
      via: facts.via ?? 'SERVICE',
      operation,
      projectId: facts.projectId ?? null,
      brokerId: facts.brokerId ?? null,
      targetKind: plain(target?.kind),
      targetId: plain(target?.id),
      before: jsonOf(facts.before),
      after: jsonOf(facts.after),
      result: facts.result,
      code: facts.code ?? null,
    };
  }
}

const keptOf = (viewer: Viewer | null): number => (viewer === null ? KEPT_OF_NOBODY : MAX_KEPT);

const placeOf = ({ address, requestId, via = 'GRAPHQL' }: AuditCaller) => ({ address, requestId, via });

const jsonOf = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value);

/** As every database takes it: without U+0000 and halves of characters. */
function plain(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  return Buffer.from(text.slice(0, MAX_NAME)).toString().replaceAll('\0', '\ufffd');
}

import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { DYNSEC_API } from '../../../protocol/control/dynamic-security.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession } from '../../../protocol/mqtt/broker-session.ts';
import type { AccessPolicy } from '../policy/access-model.ts';
import type { AccessChange } from './access-change.ts';
import type { Kick, PlannedCommand, TouchedObject } from './access-plan.ts';
import { AccessPlanner } from './access-planner.ts';
import type { CommandState } from './access-report.ts';
import { judge, type SentCommand, type Verdict } from './lost-answers.ts';
import { PolicyDraft } from './policy-draft.ts';
import { awaitLoss, isOutage, type PolicyNow, type PolicySource, readBack } from './read-back.ts';
import { type BatchEntry, nextBatch, type Pending } from './write-batches.ts';
import type { ChangeProgress } from './write-report.ts';

export interface WriteParts {
  readonly index: PolicySource;
  readonly controls: Pick<ControlCaller, 'callAll'>;
  readonly session: Pick<BrokerSession, 'status' | 'onStatus'>;
  readonly gatewayUsername: string | null;
  readonly readBackMs: number;
  /** Whether the caller may change rights on `$CONTROL/`; see ControlRights. */
  readonly mayControl: boolean;
}

interface Command {
  readonly command: PlannedCommand;
  state: CommandState;
  error: ServiceError | null;
}

interface Progress {
  commands: Command[];
  error: ServiceError | null;
  /** How many of `commands` were sent. */
  sent: number;
}

interface Sent extends SentCommand {
  readonly command: PlannedCommand;
  readonly entry: Command;
  /** Of a lost or refused one. */
  readonly reason: ServiceError | null;
}

/**
 * Carries out one list of changes: payload by payload, a payload after the answers to the one before.
 *
 * A change stops at its first command that did not happen; the others go on. After anything that was not as planned (refused, no
 * answer, own connection cut), what was touched is read back, what became of the commands is judged by that, and the changes
 * that were not begun are planned anew on what is there, each before it is sent. A command whose answer was lost is never sent a
 * second time.
 */
export class WriteRun {
  readonly #parts: WriteParts;
  readonly #changes: readonly AccessChange[];
  readonly #progress: Progress[];
  #now: PolicyNow;
  /** Sent since `#now` was read. */
  #sent: Sent[] = [];
  /** Of those before it nothing is left to be sent. */
  #first = 0;
  /** The last change of which something was sent is before it. */
  #begun = 0;
  #planner: AccessPlanner;
  /** Those before it are planned on `#now`. */
  #planned = 0;

  private constructor(parts: WriteParts, now: PolicyNow, changes: readonly AccessChange[]) {
    this.#parts = parts;
    this.#now = now;
    this.#changes = changes;
    this.#progress = changes.map(() => ({ commands: [], error: null, sent: 0 }));
    this.#planner = this.#plannerOn(now.policy);
  }

  /** Planned to its end; nothing is sent before `execute`. */
  static async planned(parts: WriteParts, now: PolicyNow, changes: readonly AccessChange[]): Promise<WriteRun> {
    const run = new WriteRun(parts, now, changes);
    await runInSlices(run.#planAll());
    return run;
  }

  get progress(): readonly ChangeProgress[] {
    return this.#progress;
  }

  /** Of the commands that the broker got to see; before `execute` of those that it will. */
  *kicks(): Generator<Kick> {
    for (const { commands } of this.#progress) {
      for (const { command, state, error } of commands) {
        if (state !== 'NOT_SENT' && !(state === 'REJECTED' && isOutage(error))) yield command.kicks;
      }
    }
  }

  async execute(): Promise<void> {
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      if (await this.#send(batch)) continue;
      if (!(await this.#readBack())) {
        this.#abandon();
        return;
      }
    }
    if (this.#sent.length > 0) await this.#readBack();
    this.#endAll();
  }

  #nextBatch(): BatchEntry[] {
    while (this.#first < this.#planned && this.#left(this.#first).length === 0) this.#first += 1;
    return nextBatch(this.#pending(), this.#now.dialect.writesPerPayload);
  }

  *#pending(): Generator<Pending> {
    for (let index = this.#first; index < this.#progress.length; index += 1) {
      if (index === this.#planned) this.#planNext();
      yield { index, commands: this.#left(index) };
    }
  }

  /** What of a change is still to be sent. */
  #left(index: number): readonly PlannedCommand[] {
    const { commands, sent } = this.#progress[index] ?? { commands: [], sent: 0 };
    const isStopped = commands.slice(0, sent).some(({ state }) => state !== 'APPLIED');
    return isStopped ? [] : commands.slice(sent).map(({ command }) => command);
  }

  /** False: not all of it went as planned, or this service's connection will be cut. */
  async #send(batch: readonly BatchEntry[]): Promise<boolean> {
    const kicksGateway = batch.some(({ command }) => command.kicks.gateway);
    const lossWithin = kicksGateway ? awaitLoss(this.#parts.session) : null;
    const calls = batch.map(({ command: { command, fields } }) => ({ command, fields: { ...fields } }));
    const results = await this.#parts.controls.callAll(DYNSEC_API, calls);
    await lossWithin?.(LOSS_MS);
    let isSmooth = !kicksGateway;
    for (const [place, { index, command }] of batch.entries()) {
      const progress = this.#progress[index];
      const entry = progress?.commands[progress.sent];
      if (!progress || !entry) continue;
      progress.sent += 1;
      this.#begun = Math.max(this.#begun, index + 1);
      const result = results[place];
      const reason = result?.status === 'fulfilled' ? null : asServiceError(result?.reason);
      const answer = reason === null ? 'ACCEPTED' : isLost(reason) ? 'LOST' : 'REFUSED';
      this.#sent.push({ command, entry, answer, reason });
      entry.state = answer === 'ACCEPTED' ? 'APPLIED' : answer === 'REFUSED' ? 'REJECTED' : 'UNKNOWN';
      entry.error = reason;
      if (answer !== 'ACCEPTED') isSmooth = false;
    }
    return isSmooth;
  }

  /** False: the broker could not be read. */
  async #readBack(): Promise<boolean> {
    const { index, session, readBackMs } = this.#parts;
    const touched = await runInSlices(touchedBy(this.#sent));
    const now = await readBack(index, session, touched, readBackMs);
    if ('error' in now) {
      for (const { entry, answer, reason } of this.#sent) {
        if (answer === 'LOST') entry.error = unreadable(reason, now.error);
      }
      return false;
    }
    const verdicts = await runInSlices(judge(this.#now.policy, this.#sent, now.policy));
    for (const [place, sent] of this.#sent.entries()) settle(sent, verdicts[place] ?? 'UNKNOWN');
    this.#sent = [];
    this.#now = now;
    this.#planRest();
    return true;
  }

  /** What was begun goes on as planned; what was not is planned on what will be there then. */
  #planRest(): void {
    if (this.#begun >= this.#changes.length) return;
    const draft = new PolicyDraft(this.#now.policy);
    for (const command of this.#left(this.#begun - 1)) draft.run(command);
    this.#planner = this.#plannerOn(draft);
    this.#planned = this.#begun;
  }

  #plannerOn(policy: AccessPolicy): AccessPlanner {
    const { gatewayUsername, mayControl } = this.#parts;
    return new AccessPlanner(policy, this.#now.dialect, { gatewayUsername, mayControl });
  }

  *#planAll(): SlicedTask<void> {
    while (this.#planned < this.#changes.length) yield this.#planNext();
  }

  #planNext(): void {
    const change = this.#changes[this.#planned];
    const progress = this.#progress[this.#planned];
    this.#planned += 1;
    if (!change || !progress) return;
    const { commands, error } = this.#planner.next(change);
    progress.commands = commands.map((command) => ({ command, state: 'PLANNED', error: null }));
    progress.error = error;
  }

  /** The broker cannot be read: nothing more is sent, and what was answered stands. */
  #abandon(): void {
    const error = new ServiceError('BROKER_UNREACHABLE', 'The broker went away before this was sent');
    for (const progress of this.#progress) {
      if (progress.sent === 0 && progress.commands.length > 0) progress.error = error;
    }
    this.#endAll();
  }

  #endAll(): void {
    for (const { commands } of this.#progress) {
      for (const command of commands) if (command.state === 'PLANNED') command.state = 'NOT_SENT';
    }
  }
}

/** Each object once. */
function* touchedBy(sent: readonly Sent[]): SlicedTask<readonly TouchedObject[]> {
  const distinct = new Map<string, TouchedObject>();
  for (const { command } of sent) {
    for (const object of command.touches)
      distinct.set('name' in object ? `${object.kind} ${object.name}` : object.kind, object);
    yield;
  }
  return [...distinct.values()];
}

/** Longest wait for this service's connection to be cut after a command that does so. */
const LOSS_MS = 1_000;

/** Nothing is sent again that a broker may have done, and what was not sent in a payload that failed is not known for sure. */
function isLost(reason: ServiceError): boolean {
  return isOutage(reason) ? reason.info?.outcome !== 'not sent' : reason.code === 'INTERNAL_ERROR';
}

function asServiceError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError('INTERNAL_ERROR', 'The answer could not be understood', { cause: reason });
}

/** Commands that say of what is there already that it is: wished for and done, by whomever. */
const MAKES_MEMBERS: ReadonlySet<string> = new Set(['addClientRole', 'addGroupRole', 'addGroupClient']);

function settle({ entry, answer, reason, command }: Sent, verdict: Verdict): void {
  if (answer === 'ACCEPTED') {
    if (verdict === 'DONE') return;
    entry.state = 'UNKNOWN';
    entry.error = new ServiceError(
      'BROKER_REJECTED',
      'The broker answered with success and has something else now: somebody changed it again, or the broker lost it',
      { info: { command: command.command } },
    );
  } else if (answer === 'LOST') {
    entry.state = verdict === 'DONE' ? 'APPLIED' : verdict === 'NOT_DONE' ? 'REJECTED' : 'UNKNOWN';
    entry.error = verdict === 'DONE' ? null : lostError(reason, command, verdict);
  } else if (verdict === 'DONE' && MAKES_MEMBERS.has(command.command)) {
    // Mosquitto answers "Internal error" for a role that the account holds already.
    entry.state = 'APPLIED';
    entry.error = null;
  } else if (verdict === 'UNKNOWN') {
    entry.state = 'UNKNOWN';
  }
}

function lostError(reason: ServiceError | null, { command, fields }: PlannedCommand, verdict: Verdict): ServiceError {
  const code = reason?.code ?? 'BROKER_UNREACHABLE';
  const options = { info: { command, ...(reason?.message ? { reason: reason.message } : {}) } };
  if (verdict === 'NOT_DONE') {
    return new ServiceError(
      code,
      'No answer came, and the broker has not done it, or somebody took it back; it was not sent again',
      options,
    );
  }
  const why = 'password' in fields ? 'a password cannot be read back' : 'what the broker has now does not tell';
  return new ServiceError(code, `No answer came, and ${why}`, options);
}

function unreadable(reason: ServiceError | null, error: unknown): ServiceError {
  const text = error instanceof Error ? error.message : String(error);
  return new ServiceError(
    reason?.code ?? 'BROKER_UNREACHABLE',
    `No answer came, and the broker cannot be read: ${text}`,
    { cause: error },
  );
}

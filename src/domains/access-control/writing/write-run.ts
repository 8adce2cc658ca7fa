import { messageOf, ServiceError } from '../../../platform/errors.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { DYNSEC_API } from '../../../protocol/control/dynamic-security.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession } from '../../../protocol/mqtt/broker-session.ts';
import type { AccessChange, AccessWrite } from './access-change.ts';
import type { PlannedCommand, TouchedObject } from './access-plan.ts';
import { AccessPlanner } from './access-planner.ts';
import type { ChangeProgress, CommandProgress } from './access-report.ts';
import { judge, type SentCommand, type Verdict } from './lost-responses.ts';
import { PolicyDraft } from './policy-draft.ts';
import { isOutage, type PolicyNow, type PolicySource, readBack, watchForDisconnect } from './read-back.ts';
import { type BatchEntry, nextBatch, type Pending } from './write-batches.ts';

export interface WriteParts {
  readonly index: PolicySource;
  readonly controls: Pick<ControlCaller, 'callAll'>;
  readonly session: Pick<BrokerSession, 'status' | 'onStatus'>;
  readonly gatewayUsername: string | null;
  readonly readBackMs: number;
}

interface Progress extends ChangeProgress {
  sent: number;
}

interface Requested {
  readonly change: AccessChange;
  readonly mayControl: boolean;
}

interface Sent extends SentCommand {
  readonly entry: CommandProgress;
  readonly reason: ServiceError | null;
}

/**
 * Executes the changes of one or more writes, in order. Each payload is sent after the responses to the previous one. A
 * change stops at its first command that fails. After an unexpected result, the touched objects are read back, and all
 * changes that are not started are planned again. A command with a lost response is never sent again.
 */
export class WriteRun {
  readonly #parts: WriteParts;
  readonly #changes: readonly Requested[];
  /** Of all changes. */
  readonly progress: readonly Progress[];
  /** The same, of each write. */
  readonly writes: readonly (readonly Progress[])[];
  #now: PolicyNow;
  #sent: Sent[] = [];
  #first = 0;
  #started = 0;
  #planner: AccessPlanner;
  #planned = 0;

  private constructor(parts: WriteParts, now: PolicyNow, writes: readonly AccessWrite[]) {
    this.#parts = parts;
    this.#now = now;
    this.#changes = writes.flatMap(({ changes, mayControl }) => changes.map((change) => ({ change, mayControl })));
    this.writes = writes.map(({ changes }) =>
      changes.map(() => ({ commands: [], before: null, error: null, sent: 0 })),
    );
    this.progress = this.writes.flat();
    this.#planner = this.#plannerOn(now.policy);
  }

  /** No command is sent before `execute`. */
  static async planned(parts: WriteParts, now: PolicyNow, writes: readonly AccessWrite[]): Promise<WriteRun> {
    const run = new WriteRun(parts, now, writes);
    await runInSlices(run.#planAll());
    return run;
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
    this.#finish();
  }

  #nextBatch(): BatchEntry[] {
    while (this.#first < this.#planned && this.#unsent(this.#first).length === 0) this.#first += 1;
    return nextBatch(this.#pending(), this.#now.dialect.writesPerPayload);
  }

  *#pending(): Generator<Pending> {
    for (let index = this.#first; index < this.progress.length; index += 1) {
      if (index === this.#planned) this.#planNext();
      yield { index, commands: this.#unsent(index) };
    }
  }

  #unsent(index: number): readonly PlannedCommand[] {
    const { commands, sent } = this.progress[index] ?? { commands: [], sent: 0 };
    const isStopped = commands.slice(0, sent).some(({ state }) => state !== 'APPLIED');
    return isStopped ? [] : commands.slice(sent).map(({ command }) => command);
  }

  /** Returns `false` if a command failed, or if the connection of this service is being closed. */
  async #send(batch: readonly BatchEntry[]): Promise<boolean> {
    const kicksGateway = batch.some(({ command }) => command.kicks.gateway);
    const disconnected = kicksGateway ? watchForDisconnect(this.#parts.session) : null;
    const calls = batch.map(({ command: { command, fields } }) => ({ command, fields: { ...fields } }));
    const results = await this.#parts.controls.callAll(DYNSEC_API, calls);
    await disconnected?.(DISCONNECT_MS);
    let isAsPlanned = !kicksGateway;
    for (const [position, { index, command }] of batch.entries()) {
      const progress = this.progress[index];
      const entry = progress?.commands[progress.sent];
      if (!progress || !entry) continue;
      progress.sent += 1;
      this.#started = Math.max(this.#started, index + 1);
      const result = results[position];
      const reason = result?.status === 'fulfilled' ? null : asServiceError(result?.reason);
      const response = reason === null ? 'ACCEPTED' : isLost(reason) ? 'LOST' : 'REFUSED';
      this.#sent.push({ command, entry, response, reason });
      entry.state = response === 'ACCEPTED' ? 'APPLIED' : response === 'REFUSED' ? 'REJECTED' : 'UNKNOWN';
      entry.error = reason;
      if (response !== 'ACCEPTED') isAsPlanned = false;
    }
    return isAsPlanned;
  }

  /** Returns `false` if the broker could not be read. */
  async #readBack(): Promise<boolean> {
    const { index, session, readBackMs } = this.#parts;
    const touched = await runInSlices(touchedBy(this.#sent));
    const now = await readBack(index, session, touched, readBackMs);
    if ('error' in now) {
      for (const { entry, response, reason } of this.#sent) {
        if (response === 'LOST') entry.error = readFailed(reason, now.error);
      }
      return false;
    }
    const verdicts = await runInSlices(judge(this.#now.policy, this.#sent, now.policy));
    for (const [index, sent] of this.#sent.entries()) settle(sent, verdicts[index] ?? 'UNKNOWN');
    this.#sent = [];
    this.#now = now;
    this.#planAgain();
    return true;
  }

  /** Started changes continue as planned. The other changes are planned on the policy after the started ones. */
  #planAgain(): void {
    if (this.#started >= this.#changes.length) return;
    const draft = new PolicyDraft(this.#now.policy);
    for (const command of this.#unsent(this.#started - 1)) draft.run(command);
    this.#planner = this.#plannerOn(draft);
    this.#planned = this.#started;
  }

  #plannerOn(policy: AccessPolicy): AccessPlanner {
    return new AccessPlanner(policy, this.#now.dialect, this.#parts.gatewayUsername);
  }

  *#planAll(): SlicedTask<void> {
    while (this.#planned < this.#changes.length) yield this.#planNext();
  }

  #planNext(): void {
    const requested = this.#changes[this.#planned];
    const progress = this.progress[this.#planned];
    this.#planned += 1;
    if (!requested || !progress) return;
    const { commands, before, error } = this.#planner.next(requested.change, requested.mayControl);
    progress.commands = commands.map((command) => ({ command, state: 'PLANNED', error: null }));
    progress.before = before;
    progress.error = error;
  }

  #abandon(): void {
    const error = new ServiceError('BROKER_UNREACHABLE', 'The broker disconnected before this change was sent');
    for (const progress of this.progress) {
      if (progress.sent === 0 && progress.commands.length > 0) progress.error = error;
    }
    this.#finish();
  }

  #finish(): void {
    for (const { commands } of this.progress) {
      for (const command of commands) if (command.state === 'PLANNED') command.state = 'NOT_SENT';
    }
  }
}

function* touchedBy(sent: readonly Sent[]): SlicedTask<readonly TouchedObject[]> {
  const distinct = new Map<string, TouchedObject>();
  for (const { command } of sent) {
    for (const object of command.touches)
      distinct.set('name' in object ? `${object.kind} ${object.name}` : object.kind, object);
    yield;
  }
  return [...distinct.values()];
}

const DISCONNECT_MS = 1_000;

/** Whether the broker may have executed the command although an error was returned. */
function isLost(reason: ServiceError): boolean {
  return isOutage(reason) ? reason.info?.outcome !== 'not sent' : reason.code === 'INTERNAL_ERROR';
}

function asServiceError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError('INTERNAL_ERROR', 'The response could not be parsed', { cause: reason });
}

/** Commands that fail if the membership already exists. The requested state is reached then. */
const ADD_MEMBERSHIP: ReadonlySet<string> = new Set(['addClientRole', 'addGroupRole', 'addGroupClient']);

function settle({ entry, response, reason, command }: Sent, verdict: Verdict): void {
  if (response === 'ACCEPTED') {
    if (verdict === 'DONE') return;
    entry.state = 'UNKNOWN';
    const message =
      'The broker responded with success but has another value now: another client changed it, or the broker lost it';
    entry.error = new ServiceError('BROKER_REJECTED', message, { info: { command: command.command } });
  } else if (response === 'LOST') {
    entry.state = verdict === 'DONE' ? 'APPLIED' : verdict === 'NOT_DONE' ? 'REJECTED' : 'UNKNOWN';
    entry.error = verdict === 'DONE' ? null : lostError(reason, command, verdict);
  } else if (verdict === 'DONE' && ADD_MEMBERSHIP.has(command.command)) {
    // Mosquitto responds with "Internal error" if the account already holds the role.
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
    const message =
      'The broker sent no response and does not have the change, or another client reverted it; it was not sent again';
    return new ServiceError(code, message, options);
  }
  const why =
    'password' in fields ? 'a password cannot be read back' : 'its current state does not show whether it applied this';
  return new ServiceError(code, `The broker sent no response, and ${why}`, options);
}

function readFailed(reason: ServiceError | null, error: unknown): ServiceError {
  const text = messageOf(error);
  const message = `The broker sent no response and cannot be read: ${text}`;
  return new ServiceError(reason?.code ?? 'BROKER_UNREACHABLE', message, { cause: error });
}

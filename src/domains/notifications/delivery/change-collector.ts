import { ServiceError } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { type ProblemSeverity, severityRank } from '../../problems/model/problem-kinds.ts';
import type { ProblemService } from '../../problems/problem-service.ts';
import type { ProblemChange } from '../../problems/storage/problem-changes.ts';
import { type Channel, toChannel } from '../channels/channel.ts';
import { selects } from '../channels/notification-rules.ts';
import { type Names, noticeOf, type ProblemNotice } from '../notification-content.ts';

interface ChangeCollectorOptions {
  readonly db: Database;
  readonly problems: Pick<ProblemService, 'changesSince' | 'lastSequence' | 'isSilenced'>;
  readonly names: Names;
}

interface Waiting {
  readonly sequence: number;
  readonly notice: ProblemNotice;
  readonly dueAt: Date;
}

interface Closing {
  readonly problemId: string;
  readonly sequence: number;
  readonly at: Date;
}

interface Changed {
  readonly channel: Channel;
  readonly changes: readonly ProblemChange[];
  readonly closings: readonly Closing[];
}

/** What a channel has of a problem since its last closing. */
interface Passed {
  /** Those that wait. */
  readonly openings: readonly Waiting[];
  /** The severity of the last opening that was sent. */
  readonly sent: ProblemSeverity | null;
}

/** Closings of a problem within FLAPS_MS that are sent at once. Later ones wait for HOLD_MS: it may open again. */
const CALM_CLOSINGS = 2;
const FLAPS_MS = 3_600_000;
const HOLD_MS = 10 * 60_000;
const PAGE = 200;
/** The id of the only row of the position. */
const ONLY = 1;

/**
 * Passes changes of problems to the channels whose rules select them. The position and what waits are written in one
 * transaction, so no change is lost and none is taken twice, whenever the process ends. Errors: those of the database.
 */
export class ChangeCollector {
  readonly #options: ChangeCollectorOptions;

  constructor(options: ChangeCollectorOptions) {
    this.#options = options;
  }

  /** Takes all new changes. The first call of a database begins with the next change. */
  async collect(): Promise<void> {
    const { db, problems } = this.#options;
    const known = await db.notificationPosition.findUnique({ where: { id: ONLY } });
    if (known === null) {
      await db.notificationPosition.create({ data: { id: ONLY, sequence: await problems.lastSequence() } });
      return;
    }
    for (let { sequence } = known; ; ) {
      const changes = await problems.changesSince(sequence, PAGE);
      const last = changes.at(-1);
      if (last === undefined) return;
      await this.#take(sequence, last.sequence, changes);
      sequence = last.sequence;
    }
  }

  async #take(from: number, to: number, changes: readonly ProblemChange[]): Promise<void> {
    const { db } = this.#options;
    const where = { problemId: { in: [...new Set(changes.map(({ problem }) => problem.id))] } };
    const waiting = await db.waitingNotice.findMany({ where, orderBy: { sequence: 'asc' } });
    const sent = await db.notifiedProblem.findMany({ where });
    const closings = await this.#closings(changes);
    const channels = (await db.notificationChannel.findMany()).map(toChannel);
    const taken = channels.map((channel) => {
      const isOwn = ({ channelId }: { readonly channelId: string }) => channelId === channel.id;
      const rows = waiting.filter(isOwn).map((row) => ({ ...row, notice: JSON.parse(row.notice) as ProblemNotice }));
      const severities = sent
        .filter(isOwn)
        .map(({ problemId, severity }) => [problemId, severity as ProblemSeverity] as const);
      return this.#ofChannel({ channel, changes, closings }, rows, new Map(severities));
    });
    await db.$transaction(async (tx) => {
      const position = { id: ONLY, sequence: from };
      const { count } = await tx.notificationPosition.updateMany({ where: position, data: { sequence: to } });
      if (count === 0) throw inUse();
      for (const { channelId, dropped } of taken) {
        if (dropped.length === 0) continue;
        const where = { channelId, sequence: { in: dropped } };
        // Otherwise another process has sent one of them meanwhile.
        if ((await tx.waitingNotice.deleteMany({ where })).count !== dropped.length) throw inUse();
      }
      const data = taken.flatMap(({ added }) => added);
      if (data.length > 0) await tx.waitingNotice.createMany({ data });
    });
  }

  /** The closings of the changed problems within FLAPS_MS, with those of `changes`. */
  async #closings(changes: readonly ProblemChange[]): Promise<readonly Closing[]> {
    const closed = changes.filter(({ change }) => change === 'CLOSED');
    if (closed.length === 0) return [];
    const since = new Date(Math.min(...closed.map(({ at }) => at.getTime())) - FLAPS_MS);
    const problemId = { in: [...new Set(closed.map(({ problem }) => problem.id))] };
    return this.#options.db.problemChange.findMany({
      where: { change: 'CLOSED', problemId, at: { gte: since } },
      select: { problemId: true, sequence: true, at: true },
    });
  }

  /**
   * `dropped`: sequences of openings that are not sent because the problem closed before they were due, and of closings
   * that are not sent because it opened again.
   */
  #ofChannel(
    { channel, changes, closings }: Changed,
    waiting: readonly Waiting[],
    sent: ReadonlyMap<string, ProblemSeverity>,
  ) {
    const { id: channelId, projectId } = channel;
    let rows = waiting;
    for (const change of changes) {
      const { sequence, problem } = change;
      if (problem.projectId !== projectId) continue;
      const held = rows.filter(({ notice, dueAt }) => isClosing(notice, problem.id) && dueAt > change.at);
      rows = rows.filter((row) => !held.includes(row));
      const own = rows.filter(({ notice }) => notice.id === problem.id);
      const closing = own.findLastIndex(({ notice }) => notice.change === 'CLOSED');
      const passed = { openings: own.slice(closing + 1), sent: closing === -1 ? (sent.get(problem.id) ?? null) : null };
      const dropped = change.change === 'CLOSED' ? this.#early(change, passed) : [];
      rows = rows.filter((row) => !dropped.includes(row));
      const closingAt = isSent(passed, dropped) ? closingDue(change, closings) : null;
      const dueAt = change.change === 'CLOSED' ? closingAt : openingAt(channel, change, passed);
      if (dueAt !== null) rows = [...rows, { sequence, notice: noticeOf(change, this.#options.names), dueAt }];
    }
    return {
      channelId,
      dropped: waiting.filter((row) => !rows.includes(row)).map(({ sequence }) => sequence),
      added: rows.flatMap((row) => {
        const { sequence, notice, dueAt } = row;
        if (waiting.includes(row)) return [];
        return { channelId, sequence, problemId: notice.id, notice: JSON.stringify(notice), dueAt };
      }),
    };
  }

  #early({ at, problem }: ProblemChange, { openings }: Passed): readonly Waiting[] {
    const isSilenced = this.#options.problems.isSilenced(problem);
    return openings.filter(({ dueAt }) => isSilenced || dueAt > at);
  }
}

const inUse = () => new ServiceError('IN_USE', 'Another process passes changes of problems to channels');

const isClosing = (notice: ProblemNotice, id: string): boolean => notice.id === id && notice.change === 'CLOSED';

/** When a closing is to be sent, if the problem does not open again until then. */
function closingDue({ sequence, at, problem }: ProblemChange, closings: readonly Closing[]): Date {
  const since = at.getTime() - FLAPS_MS;
  const earlier = closings.filter(
    (one) => one.problemId === problem.id && one.sequence < sequence && one.at.getTime() >= since,
  );
  return earlier.length < CALM_CLOSINGS ? at : new Date(at.getTime() + HOLD_MS);
}

/** When an opening is to be sent, if the problem is still open then; `null`: not at all. Each severity is sent once. */
function openingAt(
  { isActive, rules }: Channel,
  { at, problem }: ProblemChange,
  { openings, sent }: Passed,
): Date | null {
  const last = openings.at(-1);
  const known = last?.notice.severity ?? sent;
  if (!isActive || !selects(rules, problem)) return null;
  if (known === null) return new Date(at.getTime() + rules.minimumSeconds * 1_000);
  return severityRank(problem.severity) > severityRank(known) ? (last?.dueAt ?? at) : null;
}

/** Whether a closing is sent: only if an opening is, also during a silence, whatever the rules select now. */
const isSent = ({ openings, sent }: Passed, dropped: readonly Waiting[]): boolean =>
  sent !== null || openings.length > dropped.length;

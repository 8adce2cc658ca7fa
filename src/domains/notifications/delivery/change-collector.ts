import { ServiceError } from '../../../platform/errors.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { ProblemService } from '../../problems/problem-service.ts';
import type { ProblemChange } from '../../problems/storage/problem-changes.ts';
import { type Channel, toChannel } from '../channels/channel.ts';
import { dueAt, selects } from '../channels/notification-rules.ts';
import { type Names, noticeOf } from '../notification-content.ts';

interface ChangeCollectorOptions {
  readonly db: Database;
  readonly problems: Pick<ProblemService, 'changesSince' | 'lastSequence' | 'isSilenced'>;
  readonly names: Names;
}

interface WaitingRow {
  readonly channelId: string;
  readonly sequence: number;
  readonly problemId: string;
  readonly notice: string;
  readonly dueAt: Date;
}

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
    const channels = (await db.notificationChannel.findMany({ where: { isActive: true } })).map(toChannel);
    const problemIds = changes.flatMap(({ change, problem }) => (change === 'CLOSED' ? [problem.id] : []));
    const held = await db.waitingNotice.findMany({ where: { problemId: { in: problemIds } } });
    const taken = channels.map((channel) => this.#ofChannel(channel, changes, held));
    await db.$transaction(async (tx) => {
      const where = { id: ONLY, sequence: from };
      const { count } = await tx.notificationPosition.updateMany({ where, data: { sequence: to } });
      if (count === 0) throw new ServiceError('IN_USE', 'Another process passes changes of problems to channels');
      for (const { channelId, tooShort } of taken) {
        if (tooShort.length === 0) continue;
        await tx.waitingNotice.deleteMany({ where: { channelId, sequence: { in: tooShort } } });
      }
      const data = taken.flatMap(({ added }) => added);
      if (data.length > 0) await tx.waitingNotice.createMany({ data });
    });
  }

  /** `tooShort`: sequences of openings that are not sent, because the problem closed before the minimum duration. */
  #ofChannel(channel: Channel, changes: readonly ProblemChange[], held: readonly WaitingRow[]) {
    const { id: channelId, projectId, rules } = channel;
    let rows = held.filter((row) => row.channelId === channelId);
    const tooShort: number[] = [];
    const isTooShort = ({ change, at, problem }: ProblemChange) => {
      if (change === 'OPENED') return false;
      const early = rows.filter((row) => row.problemId === problem.id && row.dueAt > at);
      rows = rows.filter((row) => !early.includes(row));
      tooShort.push(...early.map(({ sequence }) => sequence));
      return early.length > 0 || at.getTime() - problem.openedAt.getTime() < rules.minimumSeconds * 1_000;
    };
    for (const change of changes) {
      if (change.problem.projectId !== projectId || isTooShort(change) || !this.#selects(channel, change)) continue;
      const { sequence, problem } = change;
      const notice = JSON.stringify(noticeOf(change, this.#options.names));
      rows.push({ channelId, sequence, problemId: problem.id, notice, dueAt: dueAt(rules, change) });
    }
    return { channelId, tooShort, added: rows.filter((row) => !held.includes(row)) };
  }

  /** A closing is sent during a silence, too: the opening may have been sent before. */
  #selects({ rules }: Channel, change: ProblemChange): boolean {
    const { problems } = this.#options;
    return selects(rules, change) && (change.change === 'CLOSED' || !problems.isSilenced(change.problem));
  }
}

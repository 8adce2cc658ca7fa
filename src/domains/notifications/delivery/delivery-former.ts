import { newId } from '../../../platform/ids.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { ProblemService } from '../../problems/problem-service.ts';
import { type Channel, toChannel } from '../channels/channel.ts';
import { contentOf, type NotificationContent, type ProblemNotice } from '../notification-content.ts';

/** Maximum number of changes in one message. */
const MAX_DIGEST = 50;
/** Maximum number of changes of a channel that wait for its digest. If there are more, they are sent early. */
const MAX_WAITING = 1_000;
/** Maximum number of deliveries of a channel that are not sent yet. Further ones make the oldest dead letters. */
const MAX_PENDING = 1_000;
/** Maximum number of deliveries of a channel that have ended. The oldest are deleted. */
export const MAX_ENDED = 1_000;
/** How often it is checked whether a problem is still silenced. */
const SILENCED_MS = 60_000;

interface DeliveryFormerOptions {
  readonly db: Database;
  readonly problems: Pick<ProblemService, 'isSilenced' | 'store'>;
}

interface Waiting {
  readonly sequence: number;
  readonly notice: ProblemNotice;
}

/**
 * Makes deliveries of the changes that have waited long enough, in the order of the changes. What waited, the
 * deliveries, and which problems were sent are written in one transaction. Errors: those of the database.
 */
export class DeliveryFormer {
  readonly #options: DeliveryFormerOptions;

  constructor(options: DeliveryFormerOptions) {
    this.#options = options;
  }

  /** Returns whether changes still wait. */
  async form(now: Date): Promise<boolean> {
    const { db } = this.#options;
    const where = { dueAt: { lte: now } };
    const groups = await db.waitingNotice.groupBy({ by: ['channelId'], where, _count: true });
    for (const { channelId, _count: count } of groups) {
      const row = await db.notificationChannel.findUnique({ where: { id: channelId } });
      if (row !== null) await this.#ofChannel(toChannel(row), count > MAX_WAITING, now);
    }
    return (await db.waitingNotice.findFirst({ select: { sequence: true } })) !== null;
  }

  async #ofChannel(channel: Channel, isFull: boolean, now: Date): Promise<void> {
    const { id: channelId, rules } = channel;
    const digestMs = rules.digestMinutes * 60_000;
    const where = { channelId, dueAt: { lte: now } };
    const { db } = this.#options;
    for (;;) {
      const rows = await db.waitingNotice.findMany({ where, orderBy: { sequence: 'asc' }, take: MAX_DIGEST });
      const isComplete = rows.length < MAX_DIGEST;
      const oldest = Math.min(...rows.map((row) => row.dueAt.getTime()));
      const isWaiting = digestMs > 0 && isComplete && !isFull && oldest + digestMs > now.getTime();
      if (rows.length === 0 || isWaiting) return;
      const waiting = rows.map(({ sequence, notice }) => ({ sequence, notice: JSON.parse(notice) as ProblemNotice }));
      if (await this.#holdSilenced(channelId, waiting, now)) continue;
      await this.#write(channel, waiting, now);
      if (isComplete) return;
    }
  }

  /**
   * Openings of silenced problems are due later, unless the closing waits, too. It may be beyond `waiting`, or not be
   * collected yet: then it takes the opening away. Returns whether there are some.
   */
  async #holdSilenced(channelId: string, waiting: readonly Waiting[], now: Date): Promise<boolean> {
    const { db, problems } = this.#options;
    const openings = waiting.filter(({ notice }) => notice.change === 'OPENED');
    const read = await problems.store.read(openings.map(({ notice }) => notice.id));
    const silenced = new Set(read.filter((problem) => problems.isSilenced(problem)).map(({ id }) => id));
    if (silenced.size === 0) return false;
    const rows = await db.waitingNotice.findMany({
      where: { channelId, problemId: { in: [...silenced] } },
      orderBy: { sequence: 'asc' },
    });
    const closings = rows.filter(({ notice }) => (JSON.parse(notice) as ProblemNotice).change === 'CLOSED');
    const closedAt = new Map(closings.map(({ problemId, sequence }) => [problemId, sequence]));
    const sequences = openings.flatMap(({ sequence, notice: { id } }) =>
      silenced.has(id) && sequence > (closedAt.get(id) ?? 0) ? [sequence] : [],
    );
    if (sequences.length === 0) return false;
    const dueAt = new Date(now.getTime() + SILENCED_MS);
    await db.waitingNotice.updateMany({ where: { channelId, sequence: { in: sequences } }, data: { dueAt } });
    return true;
  }

  async #write({ id: channelId, rules }: Channel, waiting: readonly Waiting[], now: Date): Promise<void> {
    const { changes, digestMinutes } = rules;
    const notices = waiting.map(({ notice }) => notice);
    const wanted = notices.filter(({ change }) => changes === 'BOTH' || changes === change);
    const [first, ...rest] = wanted;
    const isDigest = digestMinutes > 0 && first !== undefined;
    const contents = isDigest ? [contentOf([first, ...rest], now)] : wanted.map((notice) => contentOf([notice], now));
    const lastOf = new Map(notices.map((notice) => [notice.id, notice]));
    await this.#options.db.$transaction(async (tx) => {
      const last = await tx.notificationDelivery.aggregate({ where: { channelId }, _max: { number: true } });
      const from = (last._max.number ?? 0) + 1;
      const data = contents.map((content, index) => newDelivery(channelId, from + index, content, now));
      // A process that has lost the lease and does not know it makes the same numbers, which are unique.
      await tx.notificationDelivery.createMany({ data });
      const sequences = waiting.map(({ sequence }) => sequence);
      await tx.waitingNotice.deleteMany({ where: { channelId, sequence: { in: sequences } } });
      await tx.notifiedProblem.deleteMany({ where: { channelId, problemId: { in: [...lastOf.keys()] } } });
      const open = [...lastOf.values()].filter(({ change }) => change === 'OPENED');
      const sent = open.map(({ id: problemId, severity }) => ({ channelId, problemId, severity }));
      await tx.notifiedProblem.createMany({ data: sent });
    });
    await this.#limit(channelId, now);
  }

  async #limit(channelId: string, now: Date): Promise<void> {
    const { db } = this.#options;
    const beyond = async (state: 'PENDING' | 'ENDED', most: number) => {
      const where = { channelId, state: state === 'PENDING' ? state : ({ not: 'PENDING' } as const) };
      const row = await db.notificationDelivery.findFirst({ where, orderBy: { number: 'desc' }, skip: most });
      return row === null ? null : { ...where, number: { lte: row.number } };
    };
    const late = await beyond('PENDING', MAX_PENDING);
    const error = `More than ${MAX_PENDING} messages waited`;
    if (late) await db.notificationDelivery.updateMany({ where: late, data: { state: 'DEAD', error, endedAt: now } });
    const old = await beyond('ENDED', MAX_ENDED);
    if (old) await db.notificationDelivery.deleteMany({ where: old });
  }
}

function newDelivery(channelId: string, number: number, content: NotificationContent, now: Date) {
  const id = newId('notificationDelivery', now.getTime());
  return { id, channelId, number, content: JSON.stringify(content), nextAttemptAt: now, createdAt: now };
}

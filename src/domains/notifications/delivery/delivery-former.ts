import { newId } from '../../../platform/ids.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { type Channel, toChannel } from '../channels/channel.ts';
import { contentOf, type NotificationContent, type ProblemNotice } from '../notification-content.ts';

/** Maximum number of changes in one message. */
const MAX_DIGEST = 50;
/** Maximum number of changes of a channel that wait. If there are more, they are sent early. */
const MAX_WAITING = 1_000;
/** Maximum number of deliveries of a channel that are not sent yet. Further ones make the oldest dead letters. */
const MAX_PENDING = 1_000;
/** Maximum number of deliveries of a channel that have ended. The oldest are deleted. */
export const MAX_ENDED = 1_000;

type WaitingRow = Awaited<ReturnType<Database['waitingNotice']['findMany']>>[number];

/**
 * Makes deliveries of the changes that have waited long enough, in the order of the changes. What waited and the
 * deliveries are written in one transaction. Errors: those of the database.
 */
export class DeliveryFormer {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Returns whether changes still wait. */
  async form(now: Date): Promise<boolean> {
    const db = this.#db;
    const groups = await db.waitingNotice.groupBy({ by: ['channelId'], _count: true, _min: { dueAt: true } });
    for (const { channelId, _count: count, _min: oldest } of groups) {
      if (oldest.dueAt !== null && oldest.dueAt > now && count <= MAX_WAITING) continue;
      const row = await db.notificationChannel.findUnique({ where: { id: channelId } });
      if (row !== null) await this.#ofChannel(toChannel(row), count > MAX_WAITING, now);
    }
    return groups.length > 0;
  }

  async #ofChannel({ id: channelId, rules }: Channel, isFull: boolean, now: Date): Promise<void> {
    const digestMs = rules.digestMinutes * 60_000;
    const where = isFull ? { channelId } : { channelId, dueAt: { lte: now } };
    for (;;) {
      const rows = await this.#db.waitingNotice.findMany({ where, orderBy: { sequence: 'asc' }, take: MAX_DIGEST });
      const isComplete = rows.length < MAX_DIGEST;
      const oldest = Math.min(...rows.map((row) => row.dueAt.getTime()));
      const isWaiting = digestMs > 0 && isComplete && !isFull && oldest + digestMs > now.getTime();
      if (rows.length === 0 || isWaiting) return;
      await this.#write(channelId, rows, digestMs > 0, now);
      if (isComplete) return;
    }
  }

  async #write(channelId: string, rows: readonly WaitingRow[], isDigest: boolean, now: Date): Promise<void> {
    const notices = rows.map(({ notice }) => JSON.parse(notice) as ProblemNotice);
    const [first, ...rest] = notices;
    if (first === undefined) return;
    const contents = isDigest ? [contentOf([first, ...rest], now)] : notices.map((notice) => contentOf([notice], now));
    await this.#db.$transaction(async (tx) => {
      const last = await tx.notificationDelivery.aggregate({ where: { channelId }, _max: { number: true } });
      const from = (last._max.number ?? 0) + 1;
      const data = contents.map((content, index) => newDelivery(channelId, from + index, content, now));
      // A process that has lost the lease and does not know it makes the same numbers, which are unique.
      await tx.notificationDelivery.createMany({ data });
      const sequences = rows.map(({ sequence }) => sequence);
      await tx.waitingNotice.deleteMany({ where: { channelId, sequence: { in: sequences } } });
    });
    await this.#limit(channelId, now);
  }

  async #limit(channelId: string, now: Date): Promise<void> {
    const db = this.#db;
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

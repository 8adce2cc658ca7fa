import type { Logger } from 'pino';
import type { NotificationChannel } from '../../../generated/sqlite/client.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { Outages } from '../../../platform/outages.ts';
import { Backoff } from '../../../platform/scheduling/backoff.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { toChannel } from '../channels/channel.ts';
import type { GraphContext } from '../channels/subscription-body.ts';
import type { NotificationContent } from '../notification-content.ts';
import type { ChannelSender } from '../senders/channel-sender.ts';
import { failed, type Outcome } from '../senders/sender.ts';

interface DeliveryQueueOptions {
  readonly db: Database;
  readonly sender: Pick<ChannelSender, 'send'>;
  readonly isStopped: () => boolean;
  readonly log: Logger;
}

export interface DeliveryCounts {
  readonly delivered: number;
  readonly failed: number;
  readonly dead: number;
  readonly failing: number;
}

/** A channel with messages. `projectId`: `null` for those of the service. */
export type SendingChannel = Pick<NotificationChannel, 'id' | 'projectId'>;

/** Attempts at the same time. */
const MAX_SENDING = 16;
/** How long a message is sent again since it was created, with so many attempts at least. Then it is a dead letter. */
const RETRY_MS = 24 * 3_600_000;
const MIN_ATTEMPTS = 10;
/** How long the receiver may refuse the message itself: the messages behind it may be accepted. */
const REFUSED_MS = 10 * 60_000;
const BACKOFF = { firstMs: 1_000, longestMs: 300_000, jitter: 0.1 } as const;
/** Longer requests of a receiver are not followed. */
const MAX_RETRY_AFTER_MS = 3_600_000;

type Delivery = NonNullable<Awaited<ReturnType<Database['notificationDelivery']['findFirst']>>>;

/**
 * Sends the deliveries of a channel in order, one at a time. The outcome is written after the attempt: a process that
 * ends in between sends the message again. An attempt that fails because of a bug counts as one that the receiver
 * refuses, so that the messages behind it follow. Projects take turns after each attempt, so slow receivers of one
 * delay another by an attempt at most. Errors: those of the database.
 */
export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions;
  readonly #limit = new ConcurrencyLimit({ maxRunning: MAX_SENDING });
  /** By channel. */
  readonly #outages: Outages;
  readonly #counts = { delivered: 0, failed: 0, dead: 0 };

  constructor(options: DeliveryQueueOptions) {
    this.#options = options;
    this.#outages = new Outages({ what: 'a notification channel', log: options.log });
  }

  /** Since the start of this process, but `failing`: channels whose last attempt failed. */
  get counts(): DeliveryCounts {
    return { ...this.#counts, failing: this.#outages.count };
  }

  /** Channels that were deleted, also with their project, or are not active do not count as failing. */
  async forgetGone(): Promise<void> {
    const { keys } = this.#outages;
    if (keys.length === 0) return;
    const where = { id: { in: [...keys] }, isActive: true };
    const rows = await this.#options.db.notificationChannel.findMany({ where, select: { id: true } });
    const there = new Set(rows.map(({ id }) => id));
    for (const id of keys) if (!there.has(id)) this.#outages.forget(id);
  }

  /** Sends what is due. Returns when the next attempt is due, in milliseconds since 1970; `null` if nothing waits. */
  async run({ id, projectId }: SendingChannel, graph: GraphContext): Promise<number | null> {
    for (;;) {
      const next = await this.#limit.run(() => this.#sendHead(id, graph), { key: projectId ?? '' });
      if (next === null || next > Date.now()) return next;
    }
  }

  /** Sends the first message if it is due. Returns when the next attempt is due, as `run`; 0 after an attempt. */
  async #sendHead(channelId: string, graph: GraphContext): Promise<number | null> {
    const { db, isStopped } = this.#options;
    if (isStopped()) return null;
    // Read each time, because a user may change both.
    const row = await db.notificationChannel.findUnique({ where: { id: channelId, isActive: true } });
    const where = { channelId, state: 'PENDING' } as const;
    const head = row && (await db.notificationDelivery.findFirst({ where, orderBy: { number: 'asc' } }));
    if (row === null || head === null) return null;
    if (head.nextAttemptAt.getTime() > Date.now()) return head.nextAttemptAt.getTime();
    const startedAt = Date.now();
    const outcome = await this.#attempt(row, head, graph);
    this.#report(row, outcome);
    await this.#write(head, outcome, startedAt);
    return 0;
  }

  /** Never rejects. */
  async #attempt(row: NotificationChannel, { id, content }: Delivery, graph: GraphContext): Promise<Outcome> {
    const { sender, log } = this.#options;
    try {
      return await sender.send(toChannel(row), { id, content: JSON.parse(content) as NotificationContent }, graph);
    } catch (error) {
      log.error({ err: error, channelId: row.id, deliveryId: id }, 'a notification could not be sent');
      // The message of another error may contain a secret of the channel.
      const reason = error instanceof ServiceError ? error.message : 'Internal error: the log of the service has it';
      return failed(reason, { isRefused: true });
    }
  }

  #report({ id, name, projectId }: NotificationChannel, { isDelivered, error }: Outcome): void {
    const about = { channelId: id, name, projectId };
    this.#counts[isDelivered ? 'delivered' : 'failed'] += 1;
    if (isDelivered) this.#outages.up(id, about);
    else this.#outages.down(id, { ...about, reason: error });
  }

  async #write(head: Delivery, outcome: Outcome, began: number): Promise<void> {
    const { id, attempts: before } = head;
    const attempts = before + 1;
    const beganAt = new Date(began);
    const { status, response, error, isDelivered, isRefused = false } = outcome;
    const refusedSince = isRefused ? (head.refusedSince ?? beganAt) : null;
    const since = { startedAt: head.startedAt ?? head.createdAt, refusedSince };
    const next = isDelivered ? null : nextAttempt(outcome, attempts, since, Date.now());
    const ended = { state: isDelivered ? 'DELIVERED' : 'DEAD', endedAt: new Date() } as const;
    const { count } = await this.#options.db.notificationDelivery.updateMany({
      // A user may have sent it again meanwhile, or another process has it.
      where: { id, state: 'PENDING', attempts: before },
      data: {
        attempts,
        refusedSince,
        lastAttemptAt: beganAt,
        responseStatus: status,
        response,
        error,
        ...(next === null ? ended : { nextAttemptAt: new Date(next) }),
      },
    });
    if (next !== null || isDelivered) return;
    this.#counts.dead += count;
    if (refusedSince === null) await this.#endOld(head.channelId);
  }

  /** The others of a channel that are as old as the one that was given up end with it, instead of one by one. */
  async #endOld(channelId: string): Promise<void> {
    const before = { lt: new Date(Date.now() - RETRY_MS) };
    const isOld = [{ startedAt: null, createdAt: before }, { startedAt: before }];
    const ended = await this.#options.db.notificationDelivery.updateMany({
      where: { channelId, state: 'PENDING', OR: isOld },
      data: { state: 'DEAD', endedAt: new Date(), error: TOO_OLD },
    });
    this.#counts.dead += ended.count;
  }
}

/** Why messages end that were not sent before they were too old. */
const TOO_OLD = 'The channel failed for more than a day';

/**
 * When a failed message is sent again, in milliseconds since 1970; `null` if it is a dead letter. `attempts`: so far,
 * with this one.
 */
function nextAttempt(
  outcome: Outcome,
  attempts: number,
  { startedAt, refusedSince }: { readonly startedAt: Date; readonly refusedSince: Date | null },
  now: number,
): number | null {
  const backoff = new Backoff(BACKOFF);
  // The attempts are in the database, which another process may have written.
  backoff.reset(attempts - 1);
  const wanted = Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const at = now + Math.max(wanted, backoff.next());
  const isOver = refusedSince !== null && at - refusedSince.getTime() > REFUSED_MS;
  const isOld = attempts >= MIN_ATTEMPTS && at - startedAt.getTime() > RETRY_MS;
  return isOver || isOld ? null : at;
}

import type { Logger } from 'pino';
import { settledWithin } from '../../../platform/scheduling/within.ts';
import { ANYTHING, type Changes, type Stop } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Lease, Leases } from '../../../platform/storage/leases/leases.ts';
import type { ProblemService } from '../../problems/problem-service.ts';
import { CHANNEL_CHANGED } from '../channels/channel.ts';
import type { GraphContext } from '../channels/subscription-body.ts';
import type { Names } from '../notification-content.ts';
import type { ChannelSender } from '../senders/channel-sender.ts';
import { ChangeCollector } from './change-collector.ts';
import { DeliveryFormer } from './delivery-former.ts';
import { type DeliveryCounts, DeliveryQueue, type SendingChannel } from './delivery-queue.ts';

interface NotificationRunnerOptions {
  readonly db: Database;
  readonly leases: Leases;
  readonly changes: Changes;
  readonly problems: Pick<ProblemService, 'onChange' | 'changesSince' | 'lastSequence' | 'isSilenced' | 'store'>;
  readonly names: Names;
  readonly sender: Pick<ChannelSender, 'send'>;
  readonly log: Logger;
}

/** While something waits. */
const BUSY_MS = 1_000;
/** Otherwise: an announcement may be lost with its process. */
const IDLE_MS = 10_000;
/** An attempt that takes longer is repeated by the next process. */
const CLOSE_MS = 2_000;

/**
 * Delivers the messages of all channels in the process that holds the lease `notifications`. Everything that is to be
 * done is in the database, so another process continues within seconds if this one ends.
 */
export class NotificationRunner {
  readonly #options: NotificationRunnerOptions;
  readonly #collector: ChangeCollector;
  readonly #former: DeliveryFormer;
  readonly #queue: DeliveryQueue;
  /** Channels that send now. */
  readonly #sending = new Map<string, Promise<void>>();
  /** Those of them that were changed meanwhile. */
  readonly #changedNow = new Set<string>();
  /** When the next attempt of a channel is due, in milliseconds since 1970. */
  readonly #nextAt = new Map<string, number>();
  readonly #stops: Stop[] = [];
  #graph: GraphContext | null = null;
  #lease: Lease | null = null;
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> | null = null;
  #isWanted = false;
  #isClosed = false;

  constructor(options: NotificationRunnerOptions) {
    this.#options = options;
    this.#collector = new ChangeCollector(options);
    this.#former = new DeliveryFormer(options);
    this.#queue = new DeliveryQueue({ ...options, isStopped: () => this.#isStopped });
  }

  start(graph: GraphContext): void {
    this.#graph = graph;
    const { leases, changes, problems } = this.#options;
    this.#lease = leases.want('notifications', () => this.#wake());
    this.#stops.push(
      problems.onChange(() => this.#wake()),
      changes.on(CHANNEL_CHANGED, (id) => {
        for (const changed of id === ANYTHING ? [...this.#nextAt.keys(), ...this.#sending.keys()] : [id])
          this.#changed(changed);
        this.#wake();
      }),
    );
  }

  /** `failing` is known to the process that sends. */
  get counts(): DeliveryCounts {
    return this.#isStopped ? { ...this.#queue.counts, failing: 0 } : this.#queue.counts;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    await settledWithin(CLOSE_MS, [this.#turn ?? Promise.resolve(), ...this.#sending.values()]);
    await this.#lease?.release();
  }

  /** Its next attempt is due at once: what made the last one fail may be mended. */
  #changed(id: string): void {
    this.#nextAt.delete(id);
    if (this.#sending.has(id)) this.#changedNow.add(id);
  }

  get #isStopped(): boolean {
    return this.#isClosed || this.#lease?.held !== true;
  }

  #wake(): void {
    this.#isWanted = true;
    if (this.#turn !== null || this.#isStopped) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#turn = this.#run().finally(() => {
      this.#turn = null;
      if (this.#isWanted) this.#wake();
    });
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    let isBusy = true;
    try {
      await this.#collector.collect();
      const hasWaiting = await this.#former.form(new Date());
      await this.#queue.forgetGone();
      isBusy = (await this.#sendDue()) || hasWaiting;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'notifications cannot be read or written; this is tried again');
    }
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#wake(), isBusy ? BUSY_MS : IDLE_MS).unref();
  }

  /** Returns whether something waits to be sent. */
  async #sendDue(): Promise<boolean> {
    const where = { isActive: true, deliveries: { some: { state: 'PENDING' } } } as const;
    const pending = await this.#options.db.notificationChannel.findMany({
      where,
      select: { id: true, projectId: true },
    });
    for (const channel of pending) {
      const { id } = channel;
      if (this.#sending.has(id) || (this.#nextAt.get(id) ?? 0) > Date.now()) continue;
      this.#nextAt.delete(id);
      this.#sending.set(
        id,
        this.#send(channel).finally(() => this.#sending.delete(id)),
      );
    }
    return pending.length > 0;
  }

  async #send(channel: SendingChannel): Promise<void> {
    try {
      const next = this.#graph && (await this.#queue.run(channel, this.#graph));
      const isOutdated = this.#changedNow.delete(channel.id);
      if (next !== null && !isOutdated) this.#nextAt.set(channel.id, next);
    } catch (error) {
      this.#options.log.warn(
        { err: error, channelId: channel.id },
        'a notification could not be delivered; this is tried again',
      );
    }
  }
}

import { notFound, ServiceError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { RateLimit } from '../../../platform/limits/rate-limit.ts';
import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { CHANNEL_CHANGED, type Channel } from '../channels/channel.ts';
import type { GraphContext } from '../channels/subscription-body.ts';
import { type Names, testContent } from '../notification-content.ts';
import type { ChannelSender } from '../senders/channel-sender.ts';
import type { Outcome } from '../senders/sender.ts';

interface DeliveryServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sender: Pick<ChannelSender, 'send'>;
  readonly names: Names;
}

/** Tests that run at the same time in this process. */
const MAX_TESTS = 4;
/** Tests of one caller: any user may have a project, and the receivers of an e-mail did not ask for it. */
const TESTS_PER_MINUTE = 10;

/** What users do with the messages of channels. The caller has checked the rights for the channel. */
export class DeliveryService {
  readonly #options: DeliveryServiceOptions;
  readonly #rate = new RateLimit({ perSecond: TESTS_PER_MINUTE / 60, burst: TESTS_PER_MINUTE });
  #tests = 0;

  constructor(options: DeliveryServiceOptions) {
    this.#options = options;
  }

  /** Sends a test immediately, past the deliveries that wait, and stores nothing. Errors: RATE_LIMITED. */
  async test(channel: Channel, graph: GraphContext, callerId: string): Promise<Outcome> {
    const waitMs = this.#rate.take(callerId);
    if (waitMs > 0) {
      const retryAfterSeconds = Math.ceil(waitMs / 1_000);
      const text = `You may test ${TESTS_PER_MINUTE} times a minute: try again in ${retryAfterSeconds} s`;
      throw new ServiceError('RATE_LIMITED', text, { info: { retryAfterSeconds } });
    }
    if (this.#tests >= MAX_TESTS) {
      throw new ServiceError('RATE_LIMITED', `At most ${MAX_TESTS} tests run at a time: try again later`);
    }
    const { projectId } = channel;
    const { projects } = this.#options.names;
    const project = projectId === null ? null : { id: projectId, name: projects.get(projectId)?.name ?? projectId };
    this.#tests += 1;
    try {
      const id = newId('notificationDelivery');
      return await this.#options.sender.send(channel, { id, content: testContent(project, new Date()) }, graph);
    } finally {
      this.#tests -= 1;
    }
  }

  /** Sends an ended delivery again, before those with greater numbers. Errors: NOT_FOUND; IN_USE if it is not ended. */
  async resend({ id: channelId }: Channel, deliveryId: string) {
    const { db, changes } = this.#options;
    const where = { id: deliveryId, channelId };
    const { count } = await db.notificationDelivery.updateMany({
      where: { ...where, state: { not: 'PENDING' } },
      data: {
        ...{ state: 'PENDING', nextAttemptAt: new Date(), startedAt: null, refusedSince: null },
        ...{ attempts: 0, endedAt: null, error: null },
      },
    });
    const row = await db.notificationDelivery.findFirst({ where });
    if (row === null) throw notFound('delivery', deliveryId);
    if (count === 0) throw new ServiceError('IN_USE', 'The delivery has not ended: it is sent already');
    await changes.announce(CHANNEL_CHANGED, channelId);
    return row;
  }
}

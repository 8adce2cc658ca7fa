import { notFound, ServiceError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { TestLimit } from '../../../platform/limits/test-limit.ts';
import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { CHANNEL_CHANGED, type Channel } from '../channels/channel.ts';
import type { GraphContext } from '../channels/subscription-body.ts';
import { closedTest, type Names, type NotificationContent, testContent } from '../notification-content.ts';
import type { ChannelSender } from '../senders/channel-sender.ts';
import type { Outcome } from '../senders/sender.ts';

interface DeliveryServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sender: Pick<ChannelSender, 'send'>;
  readonly names: Names;
}

/** What users do with the messages of channels. The caller has checked the rights for the channel. */
export class DeliveryService {
  readonly #options: DeliveryServiceOptions;
  readonly #limit = new TestLimit();

  constructor(options: DeliveryServiceOptions) {
    this.#options = options;
  }

  /**
   * Sends a test immediately, past the deliveries that wait, and stores nothing. The receiver of a template may open an
   * incident for it, so it gets the closing, too. Errors: RATE_LIMITED.
   */
  async test(channel: Channel, graph: GraphContext, callerId: string): Promise<Outcome> {
    const { names, sender } = this.#options;
    const { projectId } = channel;
    const project =
      projectId === null ? null : { id: projectId, name: names.projects.get(projectId)?.name ?? projectId };
    const send = (content: NotificationContent) =>
      sender.send(channel, { id: newId('notificationDelivery'), content }, graph);
    return this.#limit.run(callerId, async () => {
      const content = testContent(project, new Date(), newId('problem'));
      const opening = await send(content);
      const { target } = channel;
      const hasTemplate = target.kind === 'WEBHOOK' && target.template !== null;
      return hasTemplate && opening.isDelivered ? send(closedTest(content)) : opening;
    });
  }

  /** Sends an ended delivery again, before those with greater numbers. Errors: NOT_FOUND; IN_USE if it is not ended. */
  async resend({ id: channelId }: Channel, deliveryId: string) {
    const { db, changes } = this.#options;
    const where = { id: deliveryId, channelId };
    const { count } = await db.notificationDelivery.updateMany({
      where: { ...where, state: { not: 'PENDING' } },
      data: {
        ...{ state: 'PENDING', nextAttemptAt: new Date(), startedAt: new Date(), refusedSince: null },
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

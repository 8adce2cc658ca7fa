import type { Registry } from 'prom-client';
import { readCounter, readGauge } from '../../platform/read-metrics.ts';
import type { DeliveryCounts } from './delivery/delivery-queue.ts';

export function registerNotificationMetrics(counts: () => DeliveryCounts, registry: Registry): void {
  readCounter(registry, {
    name: 'brokergraph_notification_attempts_total',
    help: 'Attempts of this process to send a message of a notification channel, by their outcome',
    read: () => {
      const { delivered, failed } = counts();
      return [
        [{ outcome: 'delivered' }, delivered],
        [{ outcome: 'failed' }, failed],
      ];
    },
  });
  readCounter(registry, {
    name: 'brokergraph_notification_dead_letters_total',
    help: 'Messages of notification channels that this process gave up; they can be sent again',
    read: () => counts().dead,
  });
  readGauge(registry, {
    name: 'brokergraph_notification_channels_failing',
    help: 'Notification channels whose last attempt by this process failed',
    read: () => counts().failing,
  });
}

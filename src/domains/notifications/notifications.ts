import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { GraphqlLimits } from '../../gateway/graphql/limits.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { PublishService } from '../messages/publishing/publish-service.ts';
import type { ProblemService } from '../problems/problem-service.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import { ChannelService } from './channels/channel-service.ts';
import { SubscriptionBodies } from './channels/subscription-body.ts';
import { DeliveryService } from './delivery/delivery-service.ts';
import { NotificationRunner } from './delivery/notification-runner.ts';
import { ChannelSender } from './senders/channel-sender.ts';
import { EmailSender, type MailSettings } from './senders/email-sender.ts';

interface NotificationsOptions extends MailSettings {
  readonly storage: Pick<Storage, 'db' | 'changes' | 'leases'>;
  readonly sealer: Sealer;
  readonly brokers: BrokerCache;
  readonly projects: ProjectCache;
  readonly publishing: PublishService;
  readonly problems: ProblemService;
  readonly brokerAllowedHosts: readonly string[];
  /** Loads the graph, for bodies that are results of a subscription. */
  readonly openSchema: () => Promise<GraphQLSchema>;
  readonly limits: GraphqlLimits;
  readonly log: Logger;
}

/** The channels that notify of problems, and the delivery of their messages, which `runner` starts. */
export function openNotifications(options: NotificationsOptions) {
  const { storage, brokers, projects, brokerAllowedHosts: allowedHosts } = options;
  const { db, changes, leases } = storage;
  const email = new EmailSender(options);
  const bodies = new SubscriptionBodies(options);
  const sender = new ChannelSender({ ...options, email, allowedHosts, bodies });
  const names = { projects, brokers };
  return {
    services: {
      notificationChannels: new ChannelService({
        ...options,
        db,
        changes,
        leases,
        allowedHosts,
        bodies,
        hasMail: email.isConfigured,
      }),
      notificationDeliveries: new DeliveryService({ db, changes, sender, names }),
    },
    runner: new NotificationRunner({ ...options, db, changes, leases, names, sender }),
  };
}

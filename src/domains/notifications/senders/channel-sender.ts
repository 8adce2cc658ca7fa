import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import { renderTemplate } from '../channels/body-template.ts';
import { type Channel, targetContext } from '../channels/channel.ts';
import type { WebhookSecrets, WebhookTarget } from '../channels/channel-target.ts';
import type { GraphContext, SubscriptionBodies } from '../channels/subscription-body.ts';
import type { NotificationContent } from '../notification-content.ts';
import type { EmailSender } from './email-sender.ts';
import { type MqttSenderOptions, sendMqtt } from './mqtt-sender.ts';
import { failed, type Message, type Outcome } from './sender.ts';
import { defaultBody, sendWebhook } from './webhook-sender.ts';

interface ChannelSenderOptions extends MqttSenderOptions {
  readonly sealer: Pick<Sealer, 'open'>;
  readonly email: EmailSender;
  readonly allowedHosts: readonly string[];
  readonly bodies: SubscriptionBodies;
}

/** Sends one message to the target of a channel. */
export class ChannelSender {
  readonly #options: ChannelSenderOptions;

  constructor(options: ChannelSenderOptions) {
    this.#options = options;
  }

  /** Never rejects for a failure of the receiver. `graph`: for bodies that are results of a subscription. */
  send(channel: Channel, message: Message, graph: GraphContext): Promise<Outcome> {
    const { target, projectId } = channel;
    switch (target.kind) {
      case 'WEBHOOK':
        return this.#webhook(channel, target, message, graph);
      case 'EMAIL':
        return this.#options.email.send(message, target);
      case 'MQTT':
        return sendMqtt(message, target, { ...this.#options, projectId });
    }
  }

  async #webhook(channel: Channel, target: WebhookTarget, message: Message, graph: GraphContext): Promise<Outcome> {
    const { id, sealedTarget, trustedUrl } = channel;
    const { sealer, allowedHosts, bodies } = this.#options;
    if (sealedTarget === null) return failed('The key of the secrets was lost: enter the webhook again');
    const secrets = JSON.parse(sealer.open(sealedTarget, targetContext(id))) as WebhookSecrets;
    const hosts = new AllowedHosts(allowedHosts, trustedUrl ? 'ALL' : 'NONE');
    const { template, subscription } = target;
    const bodyOf = (content: NotificationContent) => {
      if (subscription !== null) return bodies.render(subscription, channel, content, graph);
      return template === null ? defaultBody(content) : renderTemplate(template, content, secrets.credentials);
    };
    return sendWebhook(message, { ...secrets, bodyOf, hosts });
  }
}

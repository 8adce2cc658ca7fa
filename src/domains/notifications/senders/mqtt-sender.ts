import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { PublishService } from '../../messages/publishing/publish-service.ts';
import type { MqttTarget } from '../channels/channel-target.ts';
import { delivered, failed, type Message, type Outcome } from './sender.ts';
import { defaultBody } from './webhook-sender.ts';

export interface MqttSenderOptions {
  readonly brokers: Pick<BrokerCache, 'get'>;
  readonly publishing: Pick<PublishService, 'publish'>;
}

/** Publishes a message with the connection of the service to a broker of the project. Never rejects for a failure. */
export async function sendMqtt(
  { id, content }: Message,
  { brokerId, topic, qos }: MqttTarget,
  { brokers, publishing, projectId }: MqttSenderOptions & { readonly projectId: string | null },
): Promise<Outcome> {
  const broker = brokers.get(brokerId);
  if (broker === null || broker.projectId !== projectId) {
    return failed('The broker of the channel does not exist any more', { isRefused: true });
  }
  const body = { id, ...(JSON.parse(defaultBody(content)) as object) };
  try {
    const report = await publishing.publish(broker, { topic, qos, payload: { text: JSON.stringify(body) } });
    return delivered(null, report.remarks.join(' '));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return failed(error.message, { isRefused: error.code === 'INVALID' });
  }
}

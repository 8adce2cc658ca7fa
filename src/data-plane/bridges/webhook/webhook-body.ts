import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isReadableMessage } from '../../../platform/text/json-bounds.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { messageIdOf, publishedProperties } from '../sink/message-id.ts';
import type { PayloadForm } from './webhook-config.ts';

interface WebhookBody {
  /** The id of the batch; the same whenever the same messages are sent together. */
  readonly id: string;
  readonly bytes: Buffer<ArrayBuffer>;
}

interface WebhookSource {
  readonly brokerId: string;
  readonly connection: string;
  readonly payload: PayloadForm;
}

/**
 * The body of one request: `{ type: "mqtt.messages", timestamp, data: { brokerId, connection, messages: [{ id, topic,
 * payload | payloadBase64 | json, qos, retain, receivedAt, contentType?, userProperties?: [[name, value]] }] } }`.
 * Times are ISO 8601; `timestamp` is that of the last message. `id` identifies a message that is sent again in another
 * batch after a restart of this service.
 */
export function webhookBody(
  batch: readonly BridgeMessage[],
  { brokerId, connection, payload }: WebhookSource,
): WebhookBody {
  const hash = createHash('sha256');
  const messages = batch.map((message) => {
    const id = messageIdOf(message);
    hash.update(id);
    return messageText(message, id, payload);
  });
  const timestamp = isoTime(batch.at(-1)?.receivedAt ?? 0);
  const head = JSON.stringify({ type: 'mqtt.messages', timestamp, data: { brokerId, connection } }).slice(0, -2);
  return {
    id: `msg_${hash.digest('base64url').slice(0, 32)}`,
    bytes: Buffer.from(`${head},"messages":[${messages.join(',')}]}}`),
  };
}

function messageText(message: BridgeMessage, id: string, form: PayloadForm): string {
  const { topic, qos, retain, receivedAt, properties } = message;
  const contentType = properties?.contentType;
  const users = publishedProperties(message);
  const rest = JSON.stringify({
    qos,
    retain,
    receivedAt: isoTime(receivedAt),
    ...(contentType === undefined ? {} : { contentType }),
    ...(users.length === 0 ? {} : { userProperties: users }),
  });
  return `{"id":"${id}","topic":${JSON.stringify(topic)},${payloadText(message.payload, form)},${rest.slice(1)}`;
}

function payloadText(payload: Buffer, form: PayloadForm): string {
  if (form === 'base64' || !isUtf8(payload)) return `"payloadBase64":"${payload.toString('base64')}"`;
  const text = payload.toString();
  // Unchanged, so that numbers keep their digits.
  if (form === 'json' && isReadableMessage(payload) && isJson(text)) return `"json":${text}`;
  return `"payload":${JSON.stringify(text)}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

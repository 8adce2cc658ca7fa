import { randomUUID } from 'node:crypto';
import type { BridgeMessage } from '../model/bridge-message.ts';

/** Of the user property that carries the id; the queue keeps it with the message. */
const NAME = 'brokergraph-message-id';

/** The message with an id of its own, which it keeps in the queue and over restarts of this process. */
export function withMessageId<Message extends BridgeMessage>(message: Message): BridgeMessage {
  const { topic, payload, qos, retain, properties, receivedAt } = message;
  // First, so that one that its publisher wrote does not count.
  const userProperties = [[NAME, randomUUID()] as const, ...(properties?.userProperties ?? [])];
  return { topic, payload, qos, retain, receivedAt, properties: { ...properties, userProperties } };
}

/** Of a message that was queued before ids were asked for: a new one each time. */
export function messageIdOf({ properties }: BridgeMessage): string {
  const [first] = properties?.userProperties ?? [];
  return first?.[0] === NAME ? first[1] : randomUUID();
}

/** The user properties as they were published. */
export function publishedProperties({ properties }: BridgeMessage): readonly (readonly [string, string])[] {
  const all = properties?.userProperties ?? [];
  return all[0]?.[0] === NAME ? all.slice(1) : all;
}

import { randomUUID } from 'node:crypto';
import type { BridgeMessage } from '../model/bridge-message.ts';

/** The user property with the id, which the queue stores with the message. */
const NAME = 'brokergraph-message-id';

/** Adds an id to the message, which it keeps in the queue and over restarts of this process. */
export function withMessageId<Message extends BridgeMessage>(message: Message): BridgeMessage {
  const { topic, payload, qos, retain, properties, receivedAt } = message;
  // First, so that one set by the publisher does not count.
  const userProperties = [[NAME, randomUUID()] as const, ...(properties?.userProperties ?? [])];
  return { topic, payload, qos, retain, receivedAt, properties: { ...properties, userProperties } };
}

/** The id of a message; a new one for a message that was queued before ids were added. */
export function messageIdOf({ properties }: BridgeMessage): string {
  const [first] = properties?.userProperties ?? [];
  return first?.[0] === NAME ? first[1] : randomUUID();
}

export function publishedProperties({ properties }: BridgeMessage): readonly (readonly [string, string])[] {
  const all = properties?.userProperties ?? [];
  return all[0]?.[0] === NAME ? all.slice(1) : all;
}

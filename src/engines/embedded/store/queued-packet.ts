import { isExpired, outgoing } from './message-properties.ts';
import type { QueueEntry, Session } from './session.ts';

/** Converts a queued message to a packet for aedes. */
export function queuedPacket({ message, qos, retain, packetId, released, dup }: QueueEntry): QueuedPacket {
  if (released) return { cmd: 'pubrel', messageId: packetId };
  const { properties } = message;
  return {
    cmd: 'publish',
    brokerId: message.brokerId,
    brokerCounter: message.counter,
    topic: message.topic,
    payload: message.payload,
    qos,
    retain,
    dup,
    messageId: packetId,
    ...(properties ? { properties: outgoing(properties, Date.now()) } : {}),
  };
}

interface QueuedPacket {
  readonly cmd: 'publish' | 'pubrel';
  readonly messageId: number | undefined;
  readonly [field: string]: unknown;
}

/** [MQTT-3.3.2-5] Whether a message may be sent. Expired messages may not, unless they were already sent. */
export function isSendable({ message, packetId }: QueueEntry, now: number): boolean {
  return packetId !== undefined || !isExpired(message.properties, now);
}

/**
 * Messages to send when the client connects, oldest first. A message without a number is being committed, and is
 * delivered live later.
 */
export function queuedEntries(session: Session): QueueEntry[] {
  return [...session.queue.values()].filter(({ message, packetId }) => message.counter > 0 || packetId !== undefined);
}

/** Messages of a session that were not sent yet, oldest first. */
export function unsentEntries(session: Session): QueueEntry[] {
  return [...session.queue.values()].filter(({ message, packetId }) => packetId === undefined && message.counter > 0);
}

import { isExpired, outgoing } from './message-properties.ts';
import type { QueueEntry, Session } from './session.ts';

/** A queued message as aedes sends it. */
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

export interface QueuedPacket {
  readonly cmd: 'publish' | 'pubrel';
  readonly messageId: number | undefined;
  readonly [field: string]: unknown;
}

/** Whether it may be sent: not once it is expired before it was sent at all [MQTT-3.3.2-5]. */
export function isSendable({ message, packetId }: QueueEntry, now: number): boolean {
  return packetId !== undefined || !isExpired(message.properties, now);
}

/**
 * What a session is sent when its client connects, oldest first. Not what is not numbered: it is being committed and will be
 * delivered as a live message.
 */
export function queuedEntries(session: Session): QueueEntry[] {
  return [...session.queue.values()].filter(({ message, packetId }) => message.counter > 0 || packetId !== undefined);
}

/** Messages of a session that no connection has sent yet, oldest first. */
export function unsentEntries(session: Session): QueueEntry[] {
  return [...session.queue.values()].filter(({ message, packetId }) => packetId === undefined && message.counter > 0);
}

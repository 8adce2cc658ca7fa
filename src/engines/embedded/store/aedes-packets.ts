import type { PublishPacket } from 'aedes';
import { isExpired, outgoing } from './message-properties.ts';
import type { QueueEntry, Session } from './session.ts';

/** A topic without subscribers: aedes publishes packets to it that were consumed or delivered already. */
export const NOWHERE = '$nowhere';

/** Lets aedes acknowledge the packet without delivering and retaining it. */
export function consume(packet: PublishPacket): void {
  packet.topic = NOWHERE;
  packet.retain = false;
}

export function queuedPacket({ message, qos, retain, packetId, released, dup }: QueueEntry): object {
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

/** [MQTT-3.3.2-5] Whether a message may be sent: expired messages only if they were already sent. */
export function isSendable({ message, packetId }: QueueEntry, now: number): boolean {
  return packetId !== undefined || !isExpired(message.properties, now);
}

/** Messages to send when the client connects, oldest first. A message without a number is delivered live later. */
export function queuedEntries(session: Session): QueueEntry[] {
  return [...session.queue.values()].filter(({ message, packetId }) => message.counter > 0 || packetId !== undefined);
}

export const unsentEntries = (session: Session): QueueEntry[] =>
  queuedEntries(session).filter(({ packetId }) => packetId === undefined);

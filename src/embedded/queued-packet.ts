import type { QueueEntry, Session } from './session.ts';

/** A queued message as aedes sends it. */
export function queuedPacket({ message, qos, packetId, released, dup }: QueueEntry): object {
  if (released) return { cmd: 'pubrel', messageId: packetId };
  return {
    cmd: 'publish',
    brokerId: message.brokerId,
    brokerCounter: message.counter,
    topic: message.topic,
    payload: message.payload,
    qos,
    retain: false,
    dup,
    messageId: packetId,
  };
}

/** What a session is sent when its client connects, oldest first. */
export function queuedPackets(session: Session): object[] {
  const packets: object[] = [];
  for (const entry of session.queue.values()) {
    // Not numbered: it is being committed and will be delivered as a live message.
    if (entry.message.counter > 0 || entry.packetId !== undefined) packets.push(queuedPacket(entry));
  }
  return packets;
}

/** Messages of a session that no connection has sent yet, oldest first. */
export function unsentPackets(session: Session): object[] {
  const packets: object[] = [];
  for (const entry of session.queue.values()) {
    if (entry.packetId === undefined && entry.message.counter > 0) packets.push(queuedPacket(entry));
  }
  return packets;
}

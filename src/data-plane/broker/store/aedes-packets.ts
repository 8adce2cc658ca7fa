import type { PublishPacket } from 'aedes';
import { isExpired, type MessageProperties } from './message-properties.ts';
import type { QueueEntry } from './session.ts';

/** A topic without subscribers: aedes publishes packets to it that were consumed or delivered already. */
export const NOWHERE = '$nowhere';

/** A PUBLISH or a will. Its user properties are pairs, unlike in the types of aedes. */
export type ReceivedPublish = Omit<PublishPacket, 'properties'> & { readonly properties?: MessageProperties };

/** Lets aedes acknowledge the packet without delivering and retaining it. */
export function consume(packet: ReceivedPublish): void {
  packet.topic = NOWHERE;
  packet.retain = false;
}

/** [MQTT-3.3.2-5] Whether a message may be sent: expired messages only if they were already sent. */
export function isSendable({ message, packetId }: QueueEntry, now: number): boolean {
  return packetId !== undefined || !isExpired(message.properties, now);
}

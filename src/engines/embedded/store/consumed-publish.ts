import type { PublishPacket } from 'aedes';

/** A topic without subscribers: aedes publishes packets to it that were consumed or delivered already. */
export const NOWHERE = '$nowhere';

/** Lets aedes acknowledge the packet without delivering and retaining it. */
export function consume(packet: PublishPacket): void {
  packet.topic = NOWHERE;
  packet.retain = false;
}

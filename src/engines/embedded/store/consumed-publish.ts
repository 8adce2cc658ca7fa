import type { PublishPacket } from 'aedes';

/** Where aedes may publish what was consumed or delivered already. Nobody can subscribe to it. */
export const NOWHERE = '$nowhere';

/** aedes acknowledges the packet, and delivers and retains it for nobody. */
export function consume(packet: PublishPacket): void {
  packet.topic = NOWHERE;
  packet.retain = false;
}
